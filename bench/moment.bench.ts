/** P7: a long session as of any of its events, in one request. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDataDir, startDrover, type Drover, type WorkerAccess } from "./drover.ts";
import { postEvents, toRunEvent, type RunEvent } from "./long-run.ts";
import { report, toPercentiles } from "./result.ts";

const EVENTS = 30_000;
const CHECKPOINTS = 250;
const FILES = 300;
const ROUNDS = 100;
const LIMIT_MS = 200;

/** Packs as a worker makes them: each the difference to the one before. */
function makePacks(directory: string): readonly { commit: string; parent: string | null; pack: Buffer }[] {
  const git = (args: readonly string[], input?: string) =>
    execFileSync("git", [...args], {
      cwd: directory,
      input,
      maxBuffer: 64 * 1024 * 1024,
      stdio: ["pipe", "pipe", "ignore"],
      env: {
        PATH: process.env["PATH"],
        HOME: directory,
        GIT_AUTHOR_NAME: "bench",
        GIT_AUTHOR_EMAIL: "bench@localhost",
        GIT_COMMITTER_NAME: "bench",
        GIT_COMMITTER_EMAIL: "bench@localhost",
      },
    });
  git(["init", "-q"]);
  for (let n = 0; n < FILES; n += 1) writeFileSync(join(directory, `${n}.ts`), `export const n = ${n};\n`.repeat(40));
  let parent: string | null = null;
  return Array.from({ length: CHECKPOINTS }, (_, n) => {
    if (n > 0) writeFileSync(join(directory, `${n % FILES}.ts`), `export const changed = ${n};\n`.repeat(40));
    git(["add", "-A"]);
    git(["commit", "-q", "-m", `turn ${n}`]);
    const commit = git(["rev-parse", "HEAD"]).toString().trim();
    const range: string = parent === null ? `${commit}\n` : `${commit}\n^${parent}\n`;
    const pack = git(["pack-objects", "--revs", "--thin", "--stdout", "-q"], range);
    const made = { commit, parent, pack };
    parent = commit;
    return made;
  });
}

async function fill(drover: Drover, sandbox: WorkerAccess): Promise<void> {
  await using scratch = await makeDataDir();
  const every = Math.floor(EVENTS / CHECKPOINTS);
  let n = 0;
  for (const { commit, parent, pack } of makePacks(scratch.path)) {
    const id = createHash("sha256").update(pack).digest("hex");
    const put = await fetch(`${drover.url}/api/v1/sandboxes/${sandbox.id}/artifacts/${id}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${sandbox.token}` },
      body: new Uint8Array(pack),
    });
    if (!put.ok) throw new Error(`no artifact: ${put.status} ${await put.text()}`);
    const checkpoint: RunEvent = {
      event_type: "workspace.checkpoint",
      event_data: { commit, parent, files_changed: parent === null ? 0 : 1, pack_artifact: id, turn: n },
    };
    const between = Array.from({ length: every - 1 }, () => toRunEvent((n += 1)));
    await postEvents(drover.url, sandbox, [checkpoint, ...between]);
  }
}

await using drover = await startDrover();
const sandbox = await drover.createSandbox();
await fill(drover, sandbox);
const headers = { authorization: `Bearer ${drover.token}` };

async function read(seq: number): Promise<number> {
  const since = performance.now();
  const reply = await fetch(`${drover.url}/api/v1/sandboxes/${sandbox.id}/moment?at_seq=${seq}`, { headers });
  const moment = (await reply.json()) as { files: unknown[] | null; events: unknown[] };
  const ms = performance.now() - since;
  if (moment.files?.length !== FILES) throw new Error(`${reply.status}: ${moment.files?.length} files`);
  if (moment.events.length === 0) throw new Error("no events");
  return ms;
}

const state = (await (await fetch(`${drover.url}/api/v1/sandboxes/${sandbox.id}/state`, { headers })).json()) as {
  at_seq: number;
  event_count: number;
};
const first = state.at_seq - state.event_count + 3;
const coldMs = await read(state.at_seq);
const samples: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  // Spread over the run by a step that has no factor in common with its length.
  samples.push(await read(first + 1 + ((round * 7_919) % (state.at_seq - first - 1))));
}
const times = toPercentiles(samples);
report({
  id: "P7e",
  title: `state, files, messages and newest events as of any of ${state.event_count.toLocaleString("en")} events, one request`,
  ours: times.p95,
  floor: null,
  ratio: null,
  target: `< ${LIMIT_MS} ms`,
  met: times.p95 < LIMIT_MS,
  n: samples.length,
  ...times,
  unit: "ms",
  note: `ours is the p95; ${CHECKPOINTS} checkpoints of ${FILES} files; the very first look at a run unpacks its checkpoints and took ${Math.round(coldMs)} ms`,
});
