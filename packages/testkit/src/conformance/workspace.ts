/** What every workspace of the harness promises, and a small task for an agent in it. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@drover/contract";
import { expect } from "vitest";
import type { Workspace } from "../../../harness/src/index.ts";

export const WRITE_SCRIPT: JsonObject = {
  steps: [
    { text: "I write it." },
    { edit: { path: "made.txt", content: "one\n" } },
    { command: { argv: ["cat", "made.txt"] } },
  ],
};

/** What a worker tells of that task, among other things. */
export const WRITE_EVENTS = [
  "SPAWNED",
  "agent.started",
  "agent.message",
  "agent.tool_use",
  "agent.tool_result",
  "agent.file_edited",
  "workspace.checkpoint",
  "agent.completed",
  "agent.waiting",
] as const;

async function makeRepository(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "drover-direct-repo-"));
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c", ...args]);
  git("init", "--quiet", "--initial-branch", "trunk");
  await writeFile(join(folder, "kept.txt"), "from the repository\n");
  git("add", ".");
  git("commit", "--quiet", "--message", "first");
  return folder;
}

export async function exerciseWorkspace(workspace: Workspace): Promise<void> {
  const repo = await makeRepository();
  await workspace.gitClone(repo, { branch: "trunk" });
  await rm(repo, { recursive: true });
  expect(Buffer.from(await workspace.readFile("kept.txt")).toString()).toBe("from the repository\n");
  await workspace.writeFile("deep/er/it's.txt", "yes\n");
  expect((await workspace.exec(["cat", "deep/er/it's.txt"])).stdout).toBe("yes\n");
  expect((await workspace.list()).map(({ name, kind }) => `${kind} ${name}`)).toEqual(
    expect.arrayContaining(["directory deep", "file kept.txt"]),
  );
  const env = await workspace.exec(["sh", "-c", 'printf %s "$A|$1"; printf no >&2; exit 3', "sh", "it's $HOME"], {
    env: { A: "b c" },
  });
  expect(env).toEqual({ exitCode: 3, stdout: "b c|it's $HOME", stderr: "no", timedOut: false });
  expect((await workspace.exec(["no-such-program"])).exitCode).toBe(127);
  expect(await workspace.exec(["sleep", "600"], { timeoutMs: 200 })).toMatchObject({ timedOut: true });
  await expect(workspace.readFile("not-there")).rejects.toBeInstanceOf(Error);
}
