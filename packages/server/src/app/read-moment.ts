/** A run as of one of its events: log, checkpoints and records of then, read side by side. */
import { AppError, type Moment, type MomentFile, type SandboxId, type WorkspaceDiff } from "@drover/contract";
import type { KeptFile } from "../ports/checkpoint-store.ts";
import { listEvents, toStoredPage } from "../store/events.ts";
import { listMessagesAt, loadVerdictAt } from "../store/moments.ts";
import { loadSandbox } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { findCheckpoint, toKeptPath } from "./read-checkpoint.ts";
import { readStateAt } from "./read-state.ts";
import { readMemory } from "./resume-run.ts";

const FILES_LIMIT = 20_000;
const MESSAGES_LIMIT = 200;

function toFiles(now: readonly KeptFile[], base: readonly KeptFile[]): readonly MomentFile[] {
  const before = new Map(base.map((file) => [file.path, file]));
  const files = now.map((file): MomentFile => {
    const old = before.get(file.path);
    before.delete(file.path);
    return { ...file, change: old === undefined ? "created" : old.object === file.object ? "same" : "modified" };
  });
  const gone = [...before.values()].map((file): MomentFile => ({ ...file, change: "deleted" }));
  return gone.length === 0
    ? files
    : [...files, ...gone].toSorted((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
}

async function readFiles(deps: Deps, id: SandboxId, atSeq: number, signal: AbortSignal) {
  const found = await findCheckpoint(deps, id, atSeq, signal);
  if (found === undefined) return { files: null, files_cut: false };
  const isBase = found.base === found.commit;
  const [now, base] = await Promise.all([
    deps.checkpoints.tree(id, found.commit, signal),
    found.base === null || isBase ? [] : deps.checkpoints.tree(id, found.base, signal),
  ]);
  const files = toFiles(now, isBase ? now : base);
  return { files: files.slice(0, FILES_LIMIT), files_cut: files.length > FILES_LIMIT };
}

export async function readMoment(
  deps: Deps,
  id: SandboxId,
  query: { readonly at_seq?: number | undefined; readonly events: number },
  signal: AbortSignal,
): Promise<Moment> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  const atSeq = query.at_seq ?? Number.MAX_SAFE_INTEGER;
  const newest = {
    limit: Math.max(1, query.events),
    offset: 0,
    before_seq: Math.min(atSeq, Number.MAX_SAFE_INTEGER - 1) + 1,
  };
  const [state, files, messages, verdict, events, memory] = await Promise.all([
    readStateAt(deps, id, query.at_seq),
    readFiles(deps, id, atSeq, signal),
    listMessagesAt(deps.db, id, atSeq, MESSAGES_LIMIT),
    loadVerdictAt.maybe(deps.db, id, atSeq),
    query.events === 0 ? [] : listEvents(deps.db, { sandboxId: id }, newest, "desc"),
    readMemory(deps, row, atSeq),
  ]);
  return {
    state,
    ...files,
    files: files.files === null ? null : [...files.files],
    memory,
    messages: messages.map((message) => ({ ...message, queued_at: message.queued_at.toISOString() })),
    verdict: verdict === undefined ? null : { ...verdict.verdict, created_at: verdict.created_at.toISOString() },
    events: toStoredPage(events, newest.limit).events.toReversed(),
  };
}

/** Between what the run began with, or another place of the log, and this one. */
export async function readWorkspaceDiff(
  deps: Deps,
  id: SandboxId,
  query: {
    readonly at_seq?: number | undefined;
    readonly from_seq?: number | undefined;
    readonly path?: string | undefined;
  },
  signal: AbortSignal,
): Promise<WorkspaceDiff> {
  const now = await findCheckpoint(deps, id, query.at_seq, signal);
  if (now === undefined) throw new AppError("checkpoint.not_found", "nothing was kept by then");
  const then = query.from_seq === undefined ? undefined : await findCheckpoint(deps, id, query.from_seq, signal);
  const from = query.from_seq === undefined ? now.base : (then?.commit ?? now.base);
  const path = query.path === undefined ? undefined : toKeptPath(query.path);
  return { patch: await deps.checkpoints.diff(id, from, now.commit, path === "" ? undefined : path, signal) };
}
