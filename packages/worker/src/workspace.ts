/** What lies in the workspace, as trees of a repository that the worker keeps outside of it: the owner's index, branch, HEAD and hooks are never touched. */
import { constants } from "node:fs";
import { access, lstat, mkdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join, relative, sep } from "node:path";
import type { Git } from "./git.ts";

/** Names are bytes: kept as `latin1` text inside, so that none is lost. */
export type PathBytes = string;

/** A file too large for the store: known by what the file system says about it. */
export interface HugeFile {
  readonly size: number;
  readonly modifiedMs: number;
}

export interface Snapshot {
  readonly tree: string;
  readonly huge: ReadonlyMap<PathBytes, HugeFile>;
}

export interface WorkspaceParts {
  readonly git: Git;
  readonly cwd: string;
  /** Where the repository of the worker lies. */
  readonly gitDir: string;
  /** Not looked at: the worker's own files, should they lie inside. */
  readonly stateDir: string;
}

export interface Workspace {
  readonly gitDir: string;
  /** Runs git on the worker's repository, without a workspace. */
  readonly run: (args: readonly string[], input?: Buffer) => Promise<Buffer>;
  /** Everything that is not ignored, as it is now. */
  snapshot(): Promise<Snapshot>;
  /** Makes the workspace hold this tree and nothing else that is not ignored. */
  checkout(now: Snapshot, tree: string): Promise<void>;
  /** From now on the store needs nothing of the owner's. */
  standAlone(): Promise<void>;
}

export const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const HUGE_BYTES = 32 * 1024 * 1024;
const FILE_LIMIT = 100_000;
const NESTED_LIMIT = 20;
const AT_ONCE = 32;
const CONFIG = `[core]
	repositoryformatversion = 0
	bare = true
	fileMode = true
	symlinks = true
	autocrlf = false
	looseCompression = 1
	logAllRefUpdates = false
[gc]
	auto = 0
`;
/** Bytes as they are: nothing that a .gitattributes asks for is done to them. */
const ATTRIBUTES = "* -text !eol !filter !ident !working-tree-encoding\n";
/** What is installed or made again by itself, also where nobody has written a .gitignore. Tracked files count all the same. */
const DEFAULT_EXCLUDES = ["node_modules/", ".venv/", "__pycache__/", ".DS_Store"];

export const toBytes = (path: PathBytes): Buffer => Buffer.from(path, "latin1");
const toPaths = (output: Buffer): PathBytes[] =>
  output
    .toString("latin1")
    .split("\0")
    .filter((path) => path !== "");

/** The owner's repository, if the workspace has one. */
async function findOwner({ git, cwd }: WorkspaceParts): Promise<string | undefined> {
  const found = await git({ args: ["rev-parse", "--path-format=absolute", "--git-common-dir"], cwd }).catch(
    () => undefined, // no repository, or one that git does not trust: then it is files like others
  );
  return found?.toString("utf8").trim();
}

async function makeStore(parts: WorkspaceParts): Promise<void> {
  const { gitDir, cwd, stateDir } = parts;
  for (const folder of ["objects/info", "objects/pack", "refs/drover/checkpoints", "info", "nested"])
    await mkdir(join(gitDir, folder), { recursive: true });
  await writeFile(join(gitDir, "HEAD"), "ref: refs/drover/checkpoints/none\n");
  await writeFile(join(gitDir, "config"), CONFIG);
  await writeFile(join(gitDir, "info", "attributes"), ATTRIBUTES);
  await writeFile(join(gitDir, "info", "as-bytes"), "* -diff\n");
  const owner = await findOwner(parts);
  const read = (name: string) =>
    owner === undefined ? Promise.resolve("") : readFile(join(owner, name), "utf8").catch(() => "");
  const own = relative(await realpath(cwd), await realpath(stateDir));
  const isInside = own !== "" && !own.startsWith("..") && !own.startsWith(sep);
  const excludes = [...DEFAULT_EXCLUDES, ...(isInside ? [`/${own}/`] : []), await read("info/exclude")];
  await writeFile(join(gitDir, "info", "exclude"), `${excludes.join("\n")}\n`);
  // Objects of another kind, or that lie with somebody else, cannot be borrowed.
  if (owner !== undefined && !/objectformat|promisor|partialclone/i.test(await read("config")))
    await writeFile(join(gitDir, "objects", "info", "alternates"), `${join(owner, "objects")}\n`);
}

export async function openWorkspace(parts: WorkspaceParts): Promise<Workspace> {
  const { git, cwd, gitDir } = parts;
  const isThere = await access(join(gitDir, "complete")).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    await rm(gitDir, { recursive: true, force: true });
    await makeStore(parts);
    await writeFile(join(gitDir, "complete"), "");
  }
  // A death may have left its locks; there is one worker at a time.
  await rm(join(gitDir, "index.lock"), { force: true });
  const run: Workspace["run"] = (args, input) =>
    git({ args, cwd: gitDir, env: { GIT_DIR: gitDir }, ...(input === undefined ? {} : { input }) });

  const inTree = (root: string, index: string, args: readonly string[], input?: Buffer) =>
    git({
      args,
      cwd: root,
      env: { GIT_DIR: gitDir, GIT_WORK_TREE: root, GIT_INDEX_FILE: index },
      ...(input === undefined ? {} : { input }),
    });

  /** Files that the owner tracks though a rule ignores them. Asked for again only when the owner's index has changed. */
  let seenIndex = "";
  const listTrackedIgnored = async (): Promise<PathBytes[]> => {
    const about = await lstat(join(cwd, ".git", "index")).catch(() => undefined); // no repository here
    if (about === undefined) return [];
    const mark = `${about.mtimeMs} ${about.size} ${about.ino}`;
    if (mark === seenIndex) return [];
    seenIndex = mark;
    const args = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
    return toPaths(await git({ args, cwd }).catch(() => Buffer.alloc(0)));
  };

  /** Stat of what changed: the huge are set apart, what cannot be read is left as it was. */
  async function sortOut(root: string, prefix: PathBytes, paths: readonly PathBytes[], huge: Map<PathBytes, HugeFile>) {
    const kept: PathBytes[] = [];
    const gone: PathBytes[] = [];
    const look = async (path: PathBytes) => {
      const full = Buffer.concat([Buffer.from(`${root}/`), toBytes(path)]);
      const about = await lstat(full).catch(() => undefined); // deleted
      if (about?.isFile() === true && about.size > HUGE_BYTES) {
        huge.set(prefix + path, { size: about.size, modifiedMs: Math.trunc(about.mtimeMs) });
        gone.push(path);
        return;
      }
      const isReadable =
        about?.isFile() !== true ||
        (await access(full, constants.R_OK).then(
          () => true,
          () => false,
        ));
      if (isReadable) kept.push(path);
    };
    for (let at = 0; at < paths.length; at += AT_ONCE) await Promise.all(paths.slice(at, at + AT_ONCE).map(look));
    return { kept, gone };
  }

  /** Brings one index up to date; resolves to its tree and to the repositories that lie in it. */
  async function scan(root: string, prefix: PathBytes, index: string, huge: Map<PathBytes, HugeFile>) {
    const list = ["ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard"];
    const found = toPaths(await inTree(root, index, list));
    const nested = found.filter((path) => path.endsWith("/"));
    const more = prefix === "" ? await listTrackedIgnored() : [];
    const changed = [...new Set([...found.filter((path) => !path.endsWith("/")), ...more])];
    if (changed.length > FILE_LIMIT) throw new Error(`the workspace has more than ${FILE_LIMIT} files to look at`);
    const { kept, gone } = await sortOut(root, prefix, changed, huge);
    const toInput = (paths: readonly PathBytes[]) => toBytes(`${paths.join("\0")}\0`);
    const update = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
    if (kept.length > 0) await inTree(root, index, update, toInput(kept));
    if (gone.length > 0) await inTree(root, index, ["update-index", "-z", "--force-remove", "--stdin"], toInput(gone));
    const tree = (await inTree(root, index, ["write-tree"])).toString("utf8").trim();
    return { tree, nested };
  }

  const trees = new Map<string, string>();
  /** A repository in the workspace is files like others; git itself would only name its commit. */
  async function snapshot(): Promise<Snapshot> {
    const huge = new Map<PathBytes, HugeFile>();
    const parts: { readonly prefix: PathBytes; readonly tree: string }[] = [];
    const walk = async (root: string, prefix: PathBytes): Promise<void> => {
      const name = createHash("sha256").update(toBytes(prefix)).digest("hex").slice(0, 16);
      const index = prefix === "" ? join(gitDir, "index") : join(gitDir, "nested", name);
      const { tree, nested } = await scan(root, prefix, index, huge);
      parts.push({ prefix, tree });
      for (const inner of nested) {
        // A name that is no text cannot be an argument.
        const text = toBytes(inner).toString("utf8");
        if (text.includes("\uFFFD") || parts.length > NESTED_LIMIT) continue;
        await walk(join(root, text), prefix + inner);
      }
    };
    await walk(cwd, "");
    return { tree: await merge(parts), huge };
  }

  async function merge(parts: readonly { readonly prefix: PathBytes; readonly tree: string }[]): Promise<string> {
    const [main, ...rest] = parts;
    if (main === undefined || rest.length === 0) return main?.tree ?? EMPTY_TREE;
    const key = parts.map(({ prefix, tree }) => `${prefix}\0${tree}`).join("\0");
    const known = trees.get(key);
    if (known !== undefined) return known;
    const index = join(gitDir, "merged");
    await rm(index, { force: true });
    await inTree(cwd, index, ["read-tree", main.tree]);
    for (const { prefix, tree } of rest)
      if (tree !== EMPTY_TREE)
        await inTree(cwd, index, ["read-tree", "-i", `--prefix=${toBytes(prefix).toString("utf8")}`, tree]);
    const merged = (await inTree(cwd, index, ["write-tree"])).toString("utf8").trim();
    trees.clear();
    trees.set(key, merged);
    return merged;
  }

  async function checkout(now: Snapshot, tree: string): Promise<void> {
    const gone = await run([
      "diff-tree",
      "-r",
      "-z",
      "--name-only",
      "--no-renames",
      "--diff-filter=DT",
      now.tree,
      tree,
    ]);
    for (const path of [...toPaths(gone), ...now.huge.keys()])
      await rm(Buffer.concat([Buffer.from(`${cwd}/`), toBytes(path)]), { force: true });
    const index = join(gitDir, "restored");
    await inTree(cwd, index, ["read-tree", tree]);
    await inTree(cwd, index, ["checkout-index", "--all", "--force"]);
    // What the workspace is now is found out afresh.
    for (const name of ["restored", "index"]) await rm(join(gitDir, name), { force: true });
  }

  return {
    gitDir,
    run,
    snapshot,
    checkout,
    standAlone: () => rm(join(gitDir, "objects", "info", "alternates"), { force: true }),
  };
}
