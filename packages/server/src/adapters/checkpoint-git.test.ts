import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import type { SandboxId } from "@drover/contract";
import { expect, test } from "vitest";
import { openGitCheckpoints } from "./checkpoint-git.ts";

const ID = "drover-00000000-000000" as SandboxId;
const { signal } = new AbortController();

test("whoever hangs up while a pack is taken in ends that, and not the process", async () => {
  const root = await mkdtemp(join(tmpdir(), "drover-checkpoints-"));
  const store = openGitCheckpoints(root);
  const hangUp = new AbortController();
  const pack = "0".repeat(64);
  const open = async () => {
    hangUp.abort();
    return { size: 10, bytes: new PassThrough() };
  };
  await expect(store.ensure(ID, [pack], open, hangUp.signal)).rejects.toThrow();
  // The next one begins anew.
  const broken = async () => ({ size: 3, bytes: new PassThrough().end("no!") });
  await expect(store.ensure(ID, [pack], broken, signal)).rejects.toMatchObject({ code: "checkpoint.unreadable" });
  await rm(root, { recursive: true, force: true });
});

/** A repository as a worker's, and each commit's pack as the difference to the one before. */
async function makeRun(root: string, checkpoints: number) {
  const directory = join(root, "worker");
  await mkdir(directory);
  const git = (args: readonly string[], input?: string) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@localhost", ...args], { cwd: directory, input });
  git(["init", "-q"]);
  const commits: string[] = [];
  const packs = new Map<string, Buffer>();
  for (let n = 0; n < checkpoints; n += 1) {
    await writeFile(join(directory, `${n % 7}.txt`), `line of ${n}\n`.repeat(30));
    // Every third one has a content that was there before: its object comes twice.
    await writeFile(join(directory, "again.txt"), n % 3 === 0 ? "the same once more\n" : `and not in ${n}\n`);
    git(["add", "-A"]);
    git(["commit", "-q", "-m", `turn ${n}`]);
    const commit = git(["rev-parse", "HEAD"]).toString().trim();
    const range = commits.length === 0 ? `${commit}\n` : `${commit}\n^${commits.at(-1)}\n`;
    packs.set(
      String(n).padStart(64, "0"),
      git(["pack-objects", "--revs", "--thin", "--stdout", "-q", "--delta-base-offset"], range),
    );
    commits.push(commit);
  }
  return { git, commits, packs };
}

test("the first look at a long run takes its packs in by one process, and every file is the worker's, byte for byte", async () => {
  const root = await mkdtemp(join(tmpdir(), "drover-checkpoints-"));
  const store = openGitCheckpoints(root);
  const { git, commits, packs } = await makeRun(root, 12);
  const opened: string[] = [];
  const open = async (pack: string) => {
    opened.push(pack);
    const bytes = packs.get(pack) ?? Buffer.alloc(0);
    return { size: bytes.length, bytes: Readable.from([bytes]) };
  };
  const ids = [...packs.keys()];
  await store.ensure(ID, ids.slice(0, 10), open, signal);
  const stored = join(root, `${ID}.git`, "objects");
  expect((await readdir(join(stored, "pack"))).filter((name) => name.endsWith(".pack"))).toHaveLength(1);
  // A run goes on, and somebody looks again: only what is new is opened.
  await store.ensure(ID, ids, open, signal);
  await store.ensure(ID, ids, open, signal);
  expect(opened.toSorted()).toEqual(ids);
  expect((await readdir(join(stored, "pack"))).filter((name) => name.endsWith(".pack"))).toHaveLength(1);
  for (const commit of [commits[0] ?? "", commits[6] ?? "", commits[9] ?? "", commits[11] ?? ""]) {
    const names = git(["ls-tree", "--name-only", commit]).toString().trim().split("\n");
    expect((await store.tree(ID, commit, signal)).map(({ path }) => path)).toEqual(names);
    for (const name of ["0.txt", "again.txt"])
      expect(await store.read(ID, commit, name, 10_000, signal)).toEqual(git(["show", `${commit}:${name}`]));
  }
  await rm(root, { recursive: true, force: true });
});

test("one broken pack among many is found out, and those before it can still be looked at", async () => {
  const root = await mkdtemp(join(tmpdir(), "drover-checkpoints-"));
  const store = openGitCheckpoints(root);
  const { commits, packs } = await makeRun(root, 9);
  const ids = [...packs.keys()];
  const fifth = packs.get(ids[5] ?? "") ?? Buffer.alloc(0);
  fifth.writeUInt8(fifth.readUInt8(20) ^ 0xff, 20);
  const open = async (pack: string) => {
    const bytes = packs.get(pack) ?? Buffer.alloc(0);
    return { size: bytes.length, bytes: Readable.from([bytes]) };
  };
  await expect(store.ensure(ID, ids, open, signal)).rejects.toMatchObject({ code: "checkpoint.unreadable" });
  await store.ensure(ID, ids.slice(0, 5), open, signal);
  expect(await store.tree(ID, commits[4] ?? "", signal)).toHaveLength(6);
  await rm(root, { recursive: true, force: true });
});
