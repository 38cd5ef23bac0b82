/** What an agent remembers is saved while it works. */
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { AgentRuntime } from "./agent-runtime.ts";
import { noLog } from "./log.ts";
import { openTranscript } from "./transcript.ts";

test("a directory is saved in the middle of a turn within seconds while it is small, and more rarely the more there is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-memory-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const runtime = { transcriptPath: () => folder } as Partial<AgentRuntime> as AgentRuntime;
  const order = { home: folder, cwd: folder, env: {}, keepArtifact: async () => "art" };
  const transcript = openTranscript({ runtime, order, getSessionId: () => "s", log: noLog });
  /** Looks until it is saved once more. */
  const countLooks = async () => {
    for (let looks = 1; looks <= 100; looks += 1) if ((await transcript.save(1, "running")).length > 0) return looks;
    return Infinity;
  };
  const file = join(folder, "session.jsonl");
  await writeFile(file, "one\n");
  expect(await countLooks()).toBe(1);
  await appendFile(file, "two\n");
  expect(await countLooks()).toBe(2);
  await appendFile(file, "x".repeat(1024 * 1024));
  expect(await countLooks()).toBe(2);
  await appendFile(file, "three\n");
  expect(await countLooks()).toBe(30);
  // The end of a turn waits for nothing.
  await appendFile(file, "four\n");
  expect(await transcript.save(1, "still")).toMatchObject([
    { event_type: "agent.transcript_saved", event_data: { kind: "directory", turn: 1 } },
  ]);
});
