/** Checkpoints in a bare repository per sandbox below the data directory, kept by the `git` program. Never checked out. */
import { spawn } from "node:child_process";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { addAbortSignal, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { AppError, type SandboxId } from "@drover/contract";
import { bundleCheckpoints } from "./checkpoint-bundle.ts";
import type { CheckpointFile, CheckpointPack, CheckpointStore } from "../ports/checkpoint-store.ts";
import { joinPacks } from "./join-packs.ts";

const LIMIT_MS = 120_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;
const PACK_BYTES = 128 * 1024 * 1024;
const RESTORE_BYTES = 1024 * 1024 * 1024;
const SMALL_BYTES = 1024 * 1024;
/** Few small packs are taken apart: thousands of pack files would make every look-up slow. Many become one file. */
const UNPACK_BELOW_PACKS = 8;
/** Together in memory. */
const JOINED_BYTES = 32 * 1024 * 1024;
const READ_AT_ONCE = 16;
/** Ids of the packs that are in the repository, a line each. */
const TAKEN = "taken";
const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n";
const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const DIFF_BYTES = 16 * 1024 * 1024;
/** No program of anybody's choice is run for a diff, and no text is made of bytes. */
const DIFF = ["diff-tree", "-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--no-commit-id"];
const COMMIT = /^[0-9a-f]{40}$/;

/** Nobody's settings, no network; one allocation has a limit, so that a few bytes cannot claim to be terabytes. */
const ENV = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_TERMINAL_PROMPT: "0",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_ALLOC_LIMIT: "256m",
};
const SAFE = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "pack.threads=1"];

const refuse = (detail: string, cause?: unknown) => new AppError("checkpoint.unreadable", detail, { cause });

interface Entry {
  readonly mode: string;
  readonly object: string;
  readonly size: number;
  readonly name: string;
}

const parseEntries = (output: Buffer): Entry[] =>
  output
    .toString("utf8")
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => {
      const tab = line.indexOf("\t");
      const [mode = "", , object = "", size = "0"] = line.slice(0, tab).split(/ +/);
      return { mode, object, size: size === "-" ? 0 : Number(size), name: line.slice(tab + 1) };
    });

const toKind = (mode: string): CheckpointFile["kind"] =>
  mode === "040000" ? "directory" : mode === "120000" ? "symlink" : mode.startsWith("100") ? "file" : "other";

/** Its bytes, unless they are many. */
async function openSmall(pack: string, open: (pack: string) => Promise<CheckpointPack>, signal: AbortSignal) {
  const { size, bytes } = await open(pack);
  if (size > PACK_BYTES) {
    bytes.destroy();
    throw refuse("a pack of this checkpoint is too large");
  }
  if (size < SMALL_BYTES) return { pack, size, read: await buffer(addAbortSignal(signal, bytes)) };
  bytes.destroy();
  return { pack, size, read: undefined };
}

export function openGitCheckpoints(root: string): CheckpointStore {
  const working = new Map<SandboxId, Promise<unknown>>();
  const toRepo = (id: SandboxId) => join(root, `${id}.git`);

  const git = async (
    repo: string,
    args: readonly string[],
    signal: AbortSignal,
    input?: Readable | string,
    limitBytes = OUTPUT_BYTES,
  ): Promise<Buffer> => {
    const child = spawn("git", [...SAFE, ...args], {
      env: { ...ENV, GIT_DIR: repo },
      cwd: repo,
      signal,
      timeout: LIMIT_MS,
      killSignal: "SIGKILL",
      stdio: ["pipe", "pipe", "pipe"],
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let said = "";
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    // It is awaited below, but whoever asked may hang up before that.
    ended.catch(() => {});
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limitBytes) child.kill("SIGKILL");
      else chunks.push(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString("utf8")).slice(-1_000)));
    child.stdin.on("error", () => {}); // it ended before it had read everything: its code says why
    if (input === undefined || typeof input === "string") child.stdin.end(input);
    else await pipeline(input, child.stdin).catch(() => {}); // the same
    const code = await ended.catch((cause: unknown) => {
      throw refuse("git could not be run", cause);
    });
    signal.throwIfAborted();
    if (code !== 0) throw refuse(said.split("\n").find((line) => /fatal|error/.test(line)) ?? "git refused it");
    return Buffer.concat(chunks);
  };

  const makeRepo = async (repo: string) => {
    for (const folder of ["objects/pack", "objects/info", "refs/drover/checkpoints"])
      await mkdir(join(repo, folder), { recursive: true, mode: 0o700 });
    await writeFile(join(repo, "config"), CONFIG);
    await writeFile(join(repo, "HEAD"), "ref: refs/drover/checkpoints/none\n");
  };

  /** Neither way leaves out a check of an object. A joined pack may hold one twice, which `--strict` would not have. */
  const takeApart = ["unpack-objects", "-q", "--strict"];
  const takeWhole = ["index-pack", "--stdin", "--fix-thin", "--strict"];
  const takeJoined = ["index-pack", "--stdin", "--fix-thin", "--fsck-objects"];

  const take = async (
    repo: string,
    ids: readonly string[],
    how: readonly string[],
    bytes: Readable,
    signal: AbortSignal,
  ) => {
    await git(repo, [...how, `--max-input-size=${PACK_BYTES}`], signal, bytes);
    await appendFile(join(repo, TAKEN), ids.map((id) => `${id}\n`).join(""));
  };

  const takeSmall = async (repo: string, packs: ReadonlyMap<string, Buffer>, signal: AbortSignal) => {
    if (packs.size === 0) return;
    const joined = joinPacks([...packs.values()]);
    if (joined === undefined) throw refuse("what was sent as a pack is none");
    const how = packs.size < UNPACK_BELOW_PACKS ? takeApart : takeJoined;
    await take(repo, [...packs.keys()], how, Readable.from(joined), signal);
  };

  const ensure: CheckpointStore["ensure"] = async (id, packs, open, signal) => {
    const repo = toRepo(id);
    // Expected: the first time, when there is none.
    const known = new Set((await readFile(join(repo, TAKEN), "utf8").catch(() => "")).split("\n").slice(0, -1));
    const missing = packs.filter((pack) => !known.has(pack));
    if (known.size === 0) {
      await rm(repo, { recursive: true, force: true });
      await makeRepo(repo);
    }
    // A process for each would be what a first look at a long run takes its time for: small ones go in together, and in the order given.
    const small = new Map<string, Buffer>();
    let bytes = 0;
    const takeThose = async () => {
      await takeSmall(repo, small, signal);
      small.clear();
      bytes = 0;
    };
    for (let from = 0; from < missing.length; from += READ_AT_ONCE) {
      const some = missing.slice(from, from + READ_AT_ONCE);
      for (const { pack, size, read } of await Promise.all(some.map((one) => openSmall(one, open, signal)))) {
        if (read === undefined || bytes + size > JOINED_BYTES) await takeThose();
        if (read === undefined) {
          const large = await open(pack);
          await take(repo, [pack], takeWhole, large.bytes, signal);
        } else {
          small.set(pack, read);
          bytes += size;
        }
      }
    }
    await takeThose();
  };

  /** The tree or file at a path; `undefined` when there is none. */
  const find = async (id: SandboxId, commit: string, path: string, signal: AbortSignal) => {
    if (!COMMIT.test(commit)) throw refuse("the checkpoint names no commit");
    const found = await git(toRepo(id), ["ls-tree", "-z", "--long", "--full-tree", commit, "--", path], signal);
    return parseEntries(found).find((entry) => entry.name === path);
  };

  const findTree = async (id: SandboxId, commit: string, path: string, signal: AbortSignal) => {
    if (path !== "") {
      const entry = await find(id, commit, path, signal);
      return entry !== undefined && toKind(entry.mode) === "directory" ? entry.object : undefined;
    }
    if (!COMMIT.test(commit)) throw refuse("the checkpoint names no commit");
    return (await git(toRepo(id), ["rev-parse", "--verify", "--quiet", `${commit}^{tree}`], signal)).toString().trim();
  };

  return {
    /** One at a time per sandbox: the second finds what the first has done. */
    ensure(id, packs, open, signal) {
      const before = working.get(id) ?? Promise.resolve();
      const work = before.catch(() => undefined).then(() => ensure(id, packs, open, signal));
      working.set(id, work);
      void work.catch(() => undefined).then(() => (working.get(id) === work ? working.delete(id) : undefined));
      return work;
    },
    async list(id, commit, path, signal) {
      const tree = await findTree(id, commit, path, signal);
      if (tree === undefined) return undefined;
      const entries = parseEntries(await git(toRepo(id), ["ls-tree", "-z", "--long", "--full-tree", tree], signal));
      return entries.map(({ name, mode, size }) => ({ name, kind: toKind(mode), size }));
    },
    async read(id, commit, path, limitBytes, signal) {
      const entry = await find(id, commit, path, signal);
      if (entry === undefined || toKind(entry.mode) === "directory" || toKind(entry.mode) === "other") return undefined;
      if (entry.size > limitBytes) throw new AppError("request.too_large", `${path} has ${entry.size} bytes`);
      return git(toRepo(id), ["cat-file", "blob", entry.object], signal);
    },
    async tree(id, commit, signal) {
      if (!COMMIT.test(commit)) throw refuse("the checkpoint names no commit");
      const all = await git(toRepo(id), ["ls-tree", "-r", "-z", "--long", "--full-tree", commit], signal);
      return parseEntries(all).map(({ name, mode, size, object }) => {
        const kind = toKind(mode);
        return { path: name, kind: kind === "directory" ? "other" : kind, size, object };
      });
    },
    async diff(id, from, to, path, signal) {
      if (!COMMIT.test(to) || (from !== null && !COMMIT.test(from))) throw refuse("the checkpoint names no commit");
      const args = [...DIFF, from ?? EMPTY_TREE, to, ...(path === undefined ? [] : ["--", path])];
      return (await git(toRepo(id), args, signal, undefined, DIFF_BYTES)).toString("utf8");
    },
    remove: (id) => rm(toRepo(id), { recursive: true, force: true }),
    async bundle(id, commits, target, openCheck, signal) {
      if (!commits.every((commit) => COMMIT.test(commit))) throw refuse("the checkpoint names no commit");
      const parts = { repo: toRepo(id), env: ENV, options: SAFE, commits, target, openCheck };
      return bundleCheckpoints(parts, signal).catch((cause: unknown) => {
        signal.throwIfAborted();
        throw refuse("the checkpoints cannot be bundled", cause);
      });
    },
    async count(id, commit, signal) {
      if (!COMMIT.test(commit)) throw refuse("the checkpoint names no commit");
      const all = await git(toRepo(id), ["ls-tree", "-r", "-z", "--long", "--full-tree", commit], signal);
      const entries = parseEntries(all);
      return { files: entries.length, bytes: entries.reduce((sum, { size }) => sum + size, 0) };
    },
    async pack(id, commit, signal) {
      const tree = (await findTree(id, commit, "", signal)) ?? "";
      const args = ["pack-objects", "--revs", "--stdout", "-q", "--window=0", "--delta-base-offset"];
      return { tree, bytes: await git(toRepo(id), args, signal, `${tree}\n`, RESTORE_BYTES) };
    },
  };
}
