/** A tree kept for good: a commit on a hidden ref of the worker's repository, and the packs that bring it to the server. */
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Workspace } from "./workspace.ts";

/** Well below the server's limit for one artifact. */
const PACK_BYTES = 24 * 1024 * 1024;
/** A workspace that is larger is not sent; its changes are still told. */
const TOTAL_BYTES = 512 * 1024 * 1024;
const IDENTITY = "Drover <drover@localhost>";

export interface Checkpoint {
  readonly commit: string;
  /** Ids of artifacts; `undefined` when the workspace is too large to be sent. */
  readonly packs: readonly string[] | undefined;
}

export interface NewCheckpoint {
  readonly tree: string;
  readonly parent: string | undefined;
  readonly at: Date;
  readonly about: string;
}

const toCommitText = ({ tree, parent, at, about }: NewCheckpoint) => {
  const when = `${IDENTITY} ${Math.floor(at.getTime() / 1_000)} +0000`;
  const parents = parent === undefined ? "" : `parent ${parent}\n`;
  return `tree ${tree}\n${parents}author ${when}\ncommitter ${when}\n\n${about}\n`;
};

async function keepFiles(folder: string, names: readonly string[], keep: (bytes: Buffer) => Promise<string>) {
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  if (sizes.reduce((sum, size) => sum + size, 0) > TOTAL_BYTES) return undefined;
  const ids: string[] = [];
  for (const name of names) ids.push(await keep(await readFile(join(folder, name))));
  return ids;
}

/** The first one holds everything, and makes the store whole; the next only what is new, as differences to the one before. */
async function makePacks(
  { run, gitDir, standAlone }: Workspace,
  commit: string,
  parent: string | undefined,
  keep: (bytes: Buffer) => Promise<string>,
): Promise<readonly string[] | undefined> {
  const options = ["pack-objects", "--revs", "--quiet", "--delta-base-offset"];
  if (parent !== undefined) {
    const thin = await run([...options, "--thin", "--stdout"], Buffer.from(`${commit}\n^${parent}\n`));
    if (thin.length <= PACK_BYTES) return [await keep(thin)];
  }
  const folder = parent === undefined ? join(gitDir, "objects", "pack") : await mkdtemp(join(gitDir, "packs-"));
  const input = Buffer.from(parent === undefined ? `${commit}\n` : `${commit}\n^${parent}\n`);
  const named = await run([...options, "--window=0", `--max-pack-size=${PACK_BYTES}`, join(folder, "pack")], input);
  const made = named
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((hash) => `pack-${hash}.pack`);
  // Commits and trees come first and point at what follows: read from the end, nothing is missing at any time.
  const ids = await keepFiles(folder, made.toReversed(), keep);
  if (parent === undefined) await standAlone();
  else await rm(folder, { recursive: true, force: true });
  return ids;
}

export async function makeCheckpoint(
  workspace: Workspace,
  checkpoint: NewCheckpoint,
  keep: (bytes: Buffer) => Promise<string>,
): Promise<Checkpoint> {
  const text = Buffer.from(toCommitText(checkpoint));
  const hashed = await workspace.run(["hash-object", "-t", "commit", "-w", "--stdin"], text);
  const commit = hashed.toString("utf8").trim();
  const packs = await makePacks(workspace, commit, checkpoint.parent, keep);
  const refs = join(workspace.gitDir, "refs", "drover", "checkpoints");
  await mkdir(refs, { recursive: true });
  await writeFile(join(refs, "last"), `${commit}\n`);
  return { commit, packs };
}
