/** Files of a sandbox as they were at a place in its log, from the checkpoints its workers sent; the sandbox itself may be long gone. */
import { posix } from "node:path";
import { AppError, ArtifactId, type FileList, type SandboxId } from "@drover/contract";
import { z } from "zod";
import type { CheckpointPack } from "../ports/checkpoint-store.ts";
import { listArtifacts } from "../store/artifacts.ts";
import { listCheckpoints } from "../store/checkpoints.ts";
import type { Deps } from "./deps.ts";
import { toInsidePath } from "./inside-path.ts";

const WORKSPACE = "/workspace";
const FILE_BYTES = 16 * 1024 * 1024;

const Told = z.looseObject({
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  parent: z.string().nullish(),
  files_changed: z.number().optional(),
  pack_artifact: ArtifactId.nullish(),
  pack_artifacts: z.array(ArtifactId).max(1_000).optional(),
});

interface FoundCheckpoint {
  readonly commit: string;
  readonly seq: number;
  readonly at: Date;
  /** What the run began with; null when that was nothing. */
  readonly base: string | null;
}

interface ToldCheckpoint extends Omit<FoundCheckpoint, "base"> {
  /** It tells what was there, and not of a change. */
  readonly isBeginning: boolean;
  readonly parent: string | null;
  readonly artifacts: readonly ArtifactId[];
}

/** A worker's claim: what does not read like a checkpoint is none. */
function toTold(row: { seq: number; created_at: Date; event_data: unknown }): ToldCheckpoint[] {
  const told = Told.safeParse(row.event_data).data;
  if (told === undefined) return [];
  const artifacts = told.pack_artifacts ?? (typeof told.pack_artifact === "string" ? [told.pack_artifact] : []);
  const parent = told.parent ?? null;
  const isBeginning = parent === null && told.files_changed === 0;
  return [{ commit: told.commit, parent, isBeginning, artifacts, seq: row.seq, at: row.created_at }];
}

/** The last one and those it is made of, oldest first: each is the difference to its parent. */
function toChain(all: readonly ToldCheckpoint[]): readonly ToldCheckpoint[] {
  const byCommit = new Map(all.map((one) => [one.commit, one]));
  const chain: ToldCheckpoint[] = [];
  let at = all.at(-1);
  while (at !== undefined && byCommit.delete(at.commit)) {
    chain.push(at);
    at = at.parent === null ? undefined : byCommit.get(at.parent);
  }
  return chain.toReversed();
}

/** Opens packs of this sandbox only; which those are is asked once, and only if one is wanted. */
function createPackOpener(deps: Deps, sandboxId: SandboxId, packs: readonly ArtifactId[]) {
  let own: Promise<ReadonlySet<string>> | undefined;
  return async (id: string): Promise<CheckpointPack> => {
    own ??= listArtifacts(deps.db, sandboxId, packs).then((rows) => new Set(rows.map((row) => row.id)));
    const blob = (await own).has(id) ? await deps.blobs.open(ArtifactId.parse(id)) : undefined;
    if (blob === undefined) throw new AppError("checkpoint.unreadable", "a pack of this checkpoint is missing");
    return blob;
  };
}

/** The last checkpoint at or before `atSeq`, with its packs in place. */
export async function findCheckpoint(
  deps: Deps,
  id: SandboxId,
  atSeq: number | undefined,
  signal: AbortSignal,
): Promise<FoundCheckpoint | undefined> {
  const rows = await listCheckpoints(deps.db, id, atSeq ?? Number.MAX_SAFE_INTEGER);
  const chain = toChain(rows.flatMap(toTold));
  const last = chain.at(-1);
  if (last === undefined) return undefined;
  const packs = chain.flatMap(({ artifacts }) => artifacts);
  await deps.checkpoints.ensure(id, packs, createPackOpener(deps, id, packs), signal);
  const [first] = chain;
  return { commit: last.commit, seq: last.seq, at: last.at, base: first?.isBeginning === true ? first.commit : null };
}

/** The commits of all checkpoints of a sandbox, oldest first, with their packs in place. */
export async function ensureCheckpoints(deps: Deps, id: SandboxId, signal: AbortSignal): Promise<readonly string[]> {
  const all = (await listCheckpoints(deps.db, id, Number.MAX_SAFE_INTEGER)).flatMap(toTold);
  const packs = [...new Set(all.flatMap(({ artifacts }) => artifacts))];
  await deps.checkpoints.ensure(id, packs, createPackOpener(deps, id, packs), signal);
  return [...new Set(all.map(({ commit }) => commit))];
}

/** The artifacts that are packs of checkpoints. */
export async function listPacks(deps: Deps, id: SandboxId): Promise<ReadonlySet<string>> {
  const all = (await listCheckpoints(deps.db, id, Number.MAX_SAFE_INTEGER)).flatMap(toTold);
  return new Set(all.flatMap(({ artifacts }) => artifacts));
}

async function needCheckpoint(deps: Deps, id: SandboxId, atSeq: number, signal: AbortSignal): Promise<FoundCheckpoint> {
  const found = await findCheckpoint(deps, id, atSeq, signal);
  if (found === undefined) throw new AppError("checkpoint.not_found", `nothing was kept at or before seq ${atSeq}`);
  return found;
}

/** Only the workspace is kept: "" is all of it, anything outside is not there. */
export function toKeptPath(asked: string): string {
  const path = toInsidePath(asked);
  if (path === WORKSPACE) return "";
  if (!path.startsWith(`${WORKSPACE}/`)) throw new AppError("file.not_found", "checkpoints hold the workspace only");
  return path.slice(WORKSPACE.length + 1);
}

export async function readFileAt(deps: Deps, id: SandboxId, asked: string, atSeq: number, signal: AbortSignal) {
  const path = toKeptPath(asked);
  const { commit } = await needCheckpoint(deps, id, atSeq, signal);
  const bytes = path === "" ? undefined : await deps.checkpoints.read(id, commit, path, FILE_BYTES, signal);
  if (bytes === undefined) throw new AppError("file.not_found", `there was no such file at seq ${atSeq}`);
  return { name: posix.basename(path), bytes };
}

export async function listFilesAt(
  deps: Deps,
  id: SandboxId,
  asked: string,
  atSeq: number,
  signal: AbortSignal,
): Promise<FileList> {
  const path = toKeptPath(asked);
  const { commit, at } = await needCheckpoint(deps, id, atSeq, signal);
  const entries = await deps.checkpoints.list(id, commit, path, signal);
  if (entries === undefined) throw new AppError("file.not_found", `there was no such directory at seq ${atSeq}`);
  return {
    path: posix.join(WORKSPACE, path),
    entries: entries.map((entry) => ({ ...entry, modified_at: at.toISOString() })),
  };
}
