/** The builtin host keeps the port's promises, starts from nothing or from somewhere, and runs nothing of a repository. */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProjectId } from "@drover/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeGitHost } from "../../../testkit/src/conformance/git-host.ts";
import { commitFiles, readCommitted } from "../../../testkit/src/git/commit-files.ts";
import type { GitHost } from "../ports/git-host.ts";
import type { GitObjects } from "../ports/git-objects.ts";
import { openBareRepositories } from "./git-bare.ts";
import { openBuiltinHost } from "./git-builtin.ts";

const { signal } = new AbortController();
let folder: string;
let objects: GitObjects;
let host: GitHost;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "drover-git-"));
  objects = openBareRepositories(join(folder, "git"));
  host = openBuiltinHost(join(folder, "git"), objects);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const toRepo = (importFrom: string | null = null) => ({
  projectId: `project-${randomUUID()}` as ProjectId,
  importFrom,
  owner: null,
  name: null,
  token: null,
});
const dirOf = (repo: { projectId: string }) => join(folder, "git", `${repo.projectId}.git`);

describeGitHost("git-builtin", async () => {
  const repo = toRepo();
  return { host, objects, repo, gitDir: dirOf(repo) };
});

/** Broken on purpose, seen to fail: whoever comes second puts its own in the place of the first one's. */
test("however many ask for a new repository at once, in however many processes, there is one", async () => {
  const repo = toRepo();
  const others = [host, openBuiltinHost(join(folder, "git"), openBareRepositories(join(folder, "git")))];
  const heads = await Promise.all(
    [...others, ...others, ...others].map(async (one) => {
      await one.ensureRepository(repo, signal);
      return objects.resolve(repo.projectId, "refs/heads/main", signal);
    }),
  );
  expect(new Set(heads).size).toBe(1);
  expect(heads[0]).toMatch(/^[0-9a-f]{40}$/);
  expect((await readdir(join(folder, "git"))).filter((name) => name.startsWith(".new-"))).toEqual([]);
});

test("an imported repository has the branches, tags and default branch of its source, and no trace of its address", async () => {
  const source = join(folder, "source");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { cwd: source });
  execFileSync("git", ["init", "--quiet", "--initial-branch", "trunk", source]);
  await writeFile(join(source, "README.md"), "trunk\n");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  git("branch", "side");
  git("tag", "v1");
  git("update-ref", "refs/drover/pulls/1", "HEAD");
  const repo = toRepo(source);
  expect(await host.ensureRepository(repo, signal)).toEqual({ defaultBranch: "trunk" });
  expect((await host.listBranches(repo, signal)).map((one) => one.name)).toEqual(["side", "trunk"]);
  expect(await objects.resolve(repo.projectId, "refs/tags/v1", signal)).toBeDefined();
  expect(await objects.resolve(repo.projectId, "refs/drover/pulls/1", signal)).toBeUndefined();
  expect(execFileSync("git", ["--git-dir", dirOf(repo), "config", "--list"], { encoding: "utf8" })).not.toContain(
    source,
  );
});

test("a source that cannot be read is told, and leaves nothing behind", async () => {
  const repo = toRepo(join(folder, "nowhere"));
  await expect(host.ensureRepository(repo, signal)).rejects.toMatchObject({ code: "git.unavailable" });
  expect(existsSync(dirOf(repo))).toBe(false);
});

test("hooks, attributes and drivers of a repository are not run", async () => {
  const repo = toRepo();
  await host.ensureRepository(repo, signal);
  const ran = join(folder, "ran");
  for (const [key, value] of [
    ["merge.evil.driver", `touch ${ran}`],
    ["filter.evil.clean", `touch ${ran}`],
    ["diff.evil.textconv", `touch ${ran}`],
    ["diff.evil.command", `touch ${ran}`],
  ] as const)
    execFileSync("git", ["--git-dir", dirOf(repo), "config", key, value]);
  await mkdir(join(dirOf(repo), "hooks"));
  await writeFile(join(dirOf(repo), "hooks/reference-transaction"), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  const base = (await objects.resolve(repo.projectId, "main", signal)) ?? "";
  const attributes = { ".gitattributes": "* filter=evil diff=evil\n" };
  const start = commitFiles(dirOf(repo), { parents: [base], files: { ...attributes, "a.txt": "1\n2\n3\n" } });
  const ours = commitFiles(dirOf(repo), { parents: [start], files: { "a.txt": "one\n2\n3\n" } });
  const theirs = commitFiles(dirOf(repo), { parents: [start], files: { "a.txt": "1\n2\nthree\n" } });
  const { tree, conflicts } = await objects.tryMerge(repo.projectId, ours, theirs, signal);
  expect(conflicts).toEqual([]);
  expect(readCommitted(dirOf(repo), tree, "a.txt")).toBe("one\n2\nthree\n");
  expect((await objects.diff(repo.projectId, start, ours, 100_000, signal)).patch).toContain("+one");
  await host.ensureBranch(repo, "side", ours, signal);
  expect(existsSync(ran)).toBe(false);
});

test("a merge tells which files conflict and how, and a diff which files changed", async () => {
  const repo = toRepo();
  await host.ensureRepository(repo, signal);
  const commit = (parents: string[], files: Record<string, string | Uint8Array | null>) =>
    commitFiles(dirOf(repo), { parents, files });
  const picture = (byte: number) => Buffer.from([0, 1, 2, 0, byte]);
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join("");
  const base = commit([], { "a.txt": "a\n", "p.png": picture(1), "gone.txt": "x\n", "old.txt": lines });
  const ours = commit([base], { "a.txt": "ours\n", "p.png": picture(2), "gone.txt": "changed\n" });
  const theirs = commit([base], {
    "a.txt": "theirs\n",
    "p.png": picture(3),
    "gone.txt": null,
    "old.txt": null,
    "renamed.txt": lines,
    "new file.txt": "1\n2\n",
  });
  const { conflicts } = await objects.tryMerge(repo.projectId, ours, theirs, signal);
  expect(conflicts).toEqual([
    { path: "a.txt", kind: "contents" },
    { path: "gone.txt", kind: "modify/delete" },
    { path: "p.png", kind: "binary" },
  ]);
  const { files, patch, isCut } = await objects.diff(repo.projectId, ours, theirs, 1_000_000, signal);
  const plain = { oldPath: null, linesAdded: 0, linesRemoved: 0, isBinary: false };
  expect(files).toEqual([
    { ...plain, path: "a.txt", change: "modified", linesAdded: 1, linesRemoved: 1 },
    { ...plain, path: "gone.txt", change: "deleted", linesRemoved: 1 },
    { ...plain, path: "new file.txt", change: "created", linesAdded: 2 },
    { ...plain, path: "p.png", change: "modified", isBinary: true },
    { ...plain, path: "renamed.txt", oldPath: "old.txt", change: "renamed" },
  ]);
  expect(isCut).toBe(false);
  expect(patch).toContain("GIT binary patch");
  expect((await objects.diff(repo.projectId, ours, theirs, 100, signal)).isCut).toBe(true);
});

test("of a branch that shares no history everything is new", async () => {
  const repo = toRepo();
  await host.ensureRepository(repo, signal);
  const [base, head] = ["a.txt", "b.txt"].map((path) =>
    commitFiles(dirOf(repo), { parents: [], files: { [path]: "1\n" } }),
  );
  const { files } = await objects.diff(repo.projectId, base ?? "", head ?? "", 1_000_000, signal);
  expect(files.map(({ path, change }) => [path, change])).toEqual([["b.txt", "created"]]);
});
