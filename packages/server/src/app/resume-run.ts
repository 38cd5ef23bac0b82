/** A run that goes on in another sandbox, or in the next generation of its own: files, memory and a summary, made ready for its worker. */
import { summariseRun } from "@drover/core";
import {
  AppError,
  ArtifactId,
  AssignedResume,
  SandboxId,
  type Json,
  type JsonObject,
  type Memory,
  type NewSandbox,
  type SavedTranscript,
} from "@drover/contract";
import { z } from "zod";
import { insertArtifact, loadArtifact } from "../store/artifacts.ts";
import { listTelling, listTranscripts, noteResume } from "../store/resume.ts";
import { loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import type { WorkerIdentity } from "./ingest-events.ts";
import { openArtifact } from "./keep-artifacts.ts";
import { findCheckpoint } from "./read-checkpoint.ts";
import { storeBytes } from "./store-bytes.ts";

const TELLING_LIMIT = 400;

const Saved = z.looseObject({
  kind: z.enum(["file", "directory", "mark"]),
  session_id: z.string(),
  artifact: ArtifactId.nullish(),
  offset: z.int().nonnegative().optional(),
  mark: z.unknown().optional(),
});

/** The newest memory and the pieces it is made of; a worker's claim, so what does not fit together is no memory. */
async function findTranscript(deps: Deps, source: SandboxRow, atSeq: number): Promise<SavedTranscript | null> {
  const runtime = source.runtime ?? "scripted";
  const rows = (await listTranscripts(deps.db, source.id, atSeq)).flatMap(
    ({ event_data }) => Saved.safeParse(event_data).data ?? [],
  );
  const [last] = rows;
  if (last === undefined) return null;
  const common = { kind: last.kind, runtime, session_id: last.session_id };
  if (last.kind === "mark") return { ...common, artifacts: [], mark: (last.mark ?? null) as Json };
  const pieces: ArtifactId[] = [];
  for (const { session_id, artifact, offset, kind } of rows) {
    if (session_id !== last.session_id || kind !== last.kind || typeof artifact !== "string") continue;
    pieces.unshift(artifact);
    if (offset === 0 || kind === "directory") return { ...common, artifacts: pieces };
  }
  return null;
}

const loadSummary = async (deps: Deps, source: SandboxRow, atSeq: number): Promise<string> =>
  summariseRun(source.prompt, await listTelling(deps.db, source.id, atSeq, TELLING_LIMIT));

/** What an agent of the same runtime that goes on from there would know. */
export async function readMemory(deps: Deps, source: SandboxRow, atSeq: number): Promise<Memory> {
  if ((await findTranscript(deps, source, atSeq)) !== null) return "native";
  return (await loadSummary(deps, source, atSeq)) === "" ? "fresh" : "reseeded";
}

/** Whether an agent of this runtime would know anything of what went before. */
export async function hasMemory(
  deps: Deps,
  source: SandboxRow,
  runtime: string,
  atSeq = Number.MAX_SAFE_INTEGER,
): Promise<boolean> {
  const transcript = await findTranscript(deps, source, atSeq);
  return transcript?.runtime === runtime || (await loadSummary(deps, source, atSeq)) !== "";
}

/** Asked before a new sandbox is made: to begin with nothing is not what was asked for, unless it was. */
async function requireMemory(
  deps: Deps,
  source: SandboxRow,
  runtime: string,
  atSeq: number | undefined,
): Promise<void> {
  if (await hasMemory(deps, source, runtime, atSeq)) return;
  throw new AppError(
    "resume.nothing",
    `nothing of ${source.id} can be gone on with: its agent said nothing that was kept; with resume_fresh it starts afresh`,
  );
}

/** Keys of a sandbox's own story, which another does not inherit. */
const OWN = new Set(["resume", "resume_from", "resume_at_seq", "resume_fresh", "resume_prompt"]);

export interface ResumedSandbox extends NewSandbox {
  readonly resume_at_seq?: number;
  readonly resume_prompt?: string;
}

/** What was not asked for is as it was in the sandbox that is gone on with. */
export async function inheritSandbox(
  deps: Deps,
  actor: Person,
  input: NewSandbox,
  atSeq?: number,
): Promise<ResumedSandbox> {
  if (input.resume_from === undefined) return input;
  const id = SandboxId.safeParse(input.resume_from);
  const source = id.success ? await loadSandbox.maybe(deps.db, id.data) : undefined;
  const mine = actor.grant.projectId;
  if (source === undefined || (mine !== null && mine !== source.project_id))
    throw new AppError("request.invalid", "resume_from is not a sandbox you may see", {
      fields: [{ path: "resume_from", message: "is not the id of a sandbox" }],
    });
  if (input.project_id !== undefined && input.project_id !== source.project_id)
    throw new AppError("request.invalid", "a run goes on in its own project", {
      fields: [{ path: "project_id", message: "is another project than that of resume_from" }],
    });
  const runtime = input.runtime ?? source.runtime ?? undefined;
  if (input.resume_fresh !== true) await requireMemory(deps, source, runtime ?? "scripted", atSeq);
  const spec = Object.fromEntries(Object.entries(source.spec).filter(([key]) => !OWN.has(key)));
  const { model, prompt, repo, base_branch } = source;
  const { memory_gb, cpu, disk_gb } = source.resources;
  const inherited = {
    ...spec,
    provider: source.provider,
    network: source.network,
    labels: source.labels,
    resources: { memory_gb: memory_gb.value, cpu: cpu.value, disk_gb: disk_gb.value },
    ...(runtime === undefined ? {} : { runtime }),
    ...(model === null ? {} : { model }),
    ...(prompt === null ? {} : { prompt }),
    ...(repo === null ? {} : { repo }),
    ...(base_branch === null ? {} : { base_branch }),
  } as NewSandbox;
  return {
    ...inherited,
    ...input,
    project_id: source.project_id,
    ...(atSeq === undefined ? {} : { resume_at_seq: atSeq }),
    ...(input.prompt === undefined ? {} : { resume_prompt: input.prompt }),
  };
}

async function shareArtifacts(
  deps: Deps,
  from: SandboxId,
  to: SandboxId,
  ids: readonly ArtifactId[],
): Promise<boolean> {
  for (const id of new Set(ids)) {
    const known = await loadArtifact.maybe(deps.db, from, id);
    if (known === undefined) return false;
    if (from !== to) await insertArtifact(deps.db, to, id, known.size);
  }
  return true;
}

/** Done twice it equals done once. `undefined` when the sandbox begins a run of its own. */
export async function prepareResume(
  deps: Deps,
  row: SandboxRow,
  signal: AbortSignal,
): Promise<AssignedResume | undefined> {
  const known = AssignedResume.safeParse(row.spec["resume"]).data;
  if (known !== undefined) return known;
  const from = SandboxId.safeParse(row.spec["resume_from"]).data;
  const source = from === undefined ? undefined : await loadSandbox.maybe(deps.db, from);
  if (source === undefined) return undefined;
  const told = row.spec["resume_at_seq"];
  const atSeq = typeof told === "number" ? told : source.last_seq;
  const checkpoint = await findCheckpoint(deps, source.id, atSeq, signal);
  let workspace: AssignedResume["workspace"] = null;
  if (checkpoint !== undefined) {
    const { tree, bytes } = await deps.checkpoints.pack(source.id, checkpoint.commit, signal);
    workspace = { artifact: await storeBytes(deps, row.id, bytes), tree };
  }
  const transcript = await findTranscript(deps, source, atSeq);
  const isShared = transcript !== null && (await shareArtifacts(deps, source.id, row.id, transcript.artifacts));
  const prompt = row.spec["resume_prompt"];
  const resume: AssignedResume = {
    from: source.id,
    at_seq: atSeq,
    workspace,
    transcript: isShared ? transcript : null,
    summary: await loadSummary(deps, source, atSeq),
    prompt: typeof prompt === "string" ? prompt : null,
  };
  await noteResume(deps.db, row.id, JSON.parse(JSON.stringify(resume)) as JsonObject);
  return resume;
}

/** Bytes that the worker needs to go on: those its assignment names and no others. */
export async function openRestored(deps: Deps, worker: WorkerIdentity, id: ArtifactId) {
  const row = await loadForWorker(deps.db, worker);
  const resume = AssignedResume.safeParse(row.spec["resume"]).data;
  const named = [resume?.workspace?.artifact, ...(resume?.transcript?.artifacts ?? [])];
  if (!named.includes(id)) throw new AppError("artifact.not_found");
  return openArtifact(deps, row.id, id);
}
