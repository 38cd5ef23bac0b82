/** Mirrors of repositories below the data directory, kept by the `git` program. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { AppError } from "@drover/contract";
import type { Repositories } from "../ports/repository.ts";

const run = promisify(execFile);
const LIMIT_MS = 10 * 60 * 1_000;
const OUTPUT_BYTES = 1024 * 1024;

/** Only transports that fetch; `ext::` would run what the address says. Nobody is there to be asked for a password. */
const ENV = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_ALLOW_PROTOCOL: "https:http:ssh:git:file",
  GIT_TERMINAL_PROMPT: "0",
  GIT_SSH_COMMAND: "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new",
};

/** Nothing of the repository is run, and one that belongs to another user is read all the same. */
const SAFE = [
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "safe.directory=*",
  "-c",
  "core.fsmonitor=false",
  "-c",
  "gc.auto=0",
];

const withoutPassword = (text: string) => text.replaceAll(/(\w+:\/\/)[^/@\s]+@/g, "$1***@");

function toReason(error: unknown): string {
  const said = (error as { stderr?: string }).stderr ?? String(error);
  const line = said.split("\n").find((one) => /fatal|error/i.test(one)) ?? said.split("\n")[0] ?? "";
  return withoutPassword(line).slice(0, 300);
}

export function openGitMirrors(root: string): Repositories {
  const working = new Map<string, Promise<unknown>>();

  const git = async (args: readonly string[], signal: AbortSignal): Promise<string> => {
    const { stdout } = await run("git", [...SAFE, ...args], {
      env: ENV,
      timeout: LIMIT_MS,
      maxBuffer: OUTPUT_BYTES,
      signal,
    });
    return stdout.trim();
  };

  const isMirror = (path: string) =>
    stat(join(path, "HEAD")).then(
      () => true,
      // Expected: the first time, when there is none.
      () => false,
    );

  const refresh = async (repo: string, mirror: string, signal: AbortSignal): Promise<void> => {
    if (await isMirror(mirror)) {
      const all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
      await git(["-C", mirror, "fetch", "--quiet", "--prune", "--force", "--", repo, ...all], signal);
      return;
    }
    const fresh = `${mirror}.new`;
    await rm(fresh, { recursive: true, force: true });
    await mkdir(root, { recursive: true, mode: 0o700 });
    // `file://` copies objects instead of linking to somebody else's.
    const source = isAbsolute(repo) ? `file://${repo}` : repo;
    await git(["clone", "--quiet", "--mirror", "--template=", "--", source, fresh], signal);
    await rename(fresh, mirror);
  };

  return {
    bundle: async (repo, target, signal) => {
      const mirror = join(root, `${createHash("sha256").update(repo).digest("hex").slice(0, 32)}.git`);
      // One at a time per repository: two fetches into one mirror would disturb each other.
      const before = working.get(mirror) ?? Promise.resolve();
      const work = before
        .catch(() => undefined)
        .then(async () => {
          await refresh(repo, mirror, signal);
          await git(["-C", mirror, "bundle", "create", "--quiet", target, "--branches", "--tags"], signal);
          return { defaultBranch: await git(["-C", mirror, "symbolic-ref", "--short", "HEAD"], signal) };
        });
      working.set(mirror, work);
      return work.catch((cause: unknown) => {
        throw new AppError("repository.unavailable", `${withoutPassword(repo)}: ${toReason(cause)}`, { cause });
      });
    },
  };
}
