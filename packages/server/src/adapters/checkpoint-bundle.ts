/** All checkpoints of a sandbox as one Git bundle, unless something in them is not to leave. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { open, stat } from "node:fs/promises";
import type { BundledCheckpoints } from "../ports/checkpoint-store.ts";

export interface BundleParts {
  readonly repo: string;
  readonly env: Readonly<Record<string, string>>;
  readonly options: readonly string[];
  readonly commits: readonly string[];
  readonly target: string;
  /** Asked with each object, piece by piece; true: it holds what must not leave. */
  readonly openCheck: () => (piece: Buffer, isEnd: boolean) => boolean;
}

const LIMIT_MS = 600_000;

function start(
  { repo, env, options }: BundleParts,
  args: readonly string[],
  signal: AbortSignal,
  output: "pipe" | number,
) {
  const child = spawn("git", [...options, ...args], {
    env: { ...env, GIT_DIR: repo },
    cwd: repo,
    signal,
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
    stdio: ["pipe", output, "ignore"],
  });
  const ended = new Promise<void>((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => (code === 0 ? done() : fail(new Error(`git ${args[0] ?? ""} ended with ${code}`))));
  });
  ended.catch(() => {}); // awaited by the caller, who may be away by then
  child.stdin?.on("error", () => {}); // it ended before it had read everything: its code says why
  return { child, ended };
}

/** `git cat-file --batch` writes a line, so many bytes, and a line end, object by object. */
async function holdsSecret(parts: BundleParts, signal: AbortSignal): Promise<boolean> {
  const { child, ended } = start(parts, ["cat-file", "--batch-all-objects", "--batch", "--unordered"], signal, "pipe");
  child.stdin?.end();
  let line = "";
  let left = -1;
  let check = parts.openCheck();
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    let at = 0;
    while (at < chunk.length) {
      if (left < 0) {
        const end = chunk.indexOf(10, at);
        line += chunk.toString("latin1", at, end < 0 ? chunk.length : end);
        if (end < 0) break;
        at = end + 1;
        if (line !== "") {
          left = Number(line.split(" ")[2] ?? 0);
          check = parts.openCheck();
        }
        line = "";
        if (left === 0) left = -1;
      } else {
        const piece = chunk.subarray(at, at + left);
        at += piece.length;
        left -= piece.length;
        if (check(piece, left === 0)) {
          child.kill("SIGKILL");
          return true;
        }
        if (left === 0) left = -1;
      }
    }
  }
  await ended;
  return false;
}

export async function bundleCheckpoints(
  parts: BundleParts,
  signal: AbortSignal,
): Promise<BundledCheckpoints | undefined> {
  if (await holdsSecret(parts, signal)) return undefined;
  const file = await open(parts.target, "w", 0o600);
  try {
    const refs = parts.commits.map((commit) => `${commit} refs/heads/checkpoints/${commit}\n`).join("");
    const header = Buffer.from(`# v2 git bundle\n${refs}\n`);
    await file.write(header);
    const { child, ended } = start(
      parts,
      ["pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset"],
      signal,
      file.fd,
    );
    child.stdin?.end(`${parts.commits.join("\n")}\n`);
    await ended;
    const hash = createHash("sha256");
    const reading = await open(parts.target);
    for await (const chunk of reading.createReadStream({ start: header.byteLength })) hash.update(chunk as Buffer);
    return { size: (await stat(parts.target)).size, packSha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}
