/** Artifacts: bytes that are too large for an event, reachable only from their own sandbox. */
import { text } from "node:stream/consumers";
import type { Readable } from "node:stream";
import { AppError, ArtifactId, type EventId, type FileDiff, type SandboxId } from "@drover/contract";
import { insertArtifact, loadArtifact, sumOtherArtifacts } from "../store/artifacts.ts";
import { loadEvent } from "../store/events.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import type { WorkerIdentity } from "./ingest-events.ts";
import { requireRoom } from "./require-room.ts";

const MEBIBYTE = 1024 * 1024;

/** Bytes that may still come of uploads under way, so that many at once are not more than one after the other. */
const awaited = new Map<SandboxId, number>();

function awaitBytes(id: SandboxId, bytes: number): void {
  const sum = (awaited.get(id) ?? 0) + bytes;
  if (sum === 0) awaited.delete(id);
  else awaited.set(id, sum);
}

/** An artifact has its own limit, and all of a sandbox have one: its disk ends somewhere, and this would be a way past that end. */
async function putWithin(deps: Deps, sandboxId: SandboxId, id: ArtifactId, bytes: Readable): Promise<number> {
  requireRoom(deps);
  const ofOne = Math.floor(deps.config.artifactLimitMb * MEBIBYTE);
  // Before the question: what is stored meanwhile is counted twice rather than not at all.
  const others = awaited.get(sandboxId) ?? 0;
  awaitBytes(sandboxId, ofOne);
  try {
    const { bytes: stored } = await sumOtherArtifacts.one(deps.db, sandboxId, id);
    const left = Math.max(0, deps.config.sandboxArtifactsMb * MEBIBYTE - stored - others);
    const { size } = await deps.blobs.put(id, bytes, Math.min(ofOne, left)).catch((cause: unknown) => {
      if (left >= ofOne || !(cause instanceof AppError) || cause.code !== "request.too_large") throw cause;
      const most = `a sandbox has at most ${deps.config.sandboxArtifactsMb} MiB of artifacts`;
      throw new AppError("request.too_large", most, { cause });
    });
    await insertArtifact(deps.db, sandboxId, id, size);
    return size;
  } finally {
    awaitBytes(sandboxId, -ofOne);
  }
}

export async function putArtifact(deps: Deps, worker: WorkerIdentity, id: ArtifactId, bytes: Readable) {
  await loadForWorker(deps.db, worker);
  // Whatever was refused half-way is read to its end and thrown away, else the caller never comes to read our answer.
  const size = await putWithin(deps, worker.sandboxId, id, bytes).finally(() => bytes.resume());
  return { artifact_id: id, size };
}

export async function openArtifact(deps: Deps, sandboxId: SandboxId, id: ArtifactId) {
  const known = await loadArtifact.maybe(deps.db, sandboxId, id);
  const blob = known === undefined ? undefined : await deps.blobs.open(id);
  if (blob === undefined) throw new AppError("artifact.not_found");
  return blob;
}

const toText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** The complete diff of a file change: from the artifact that the event names, else inline. */
export async function readFileDiff(deps: Deps, sandboxId: SandboxId, eventId: EventId): Promise<FileDiff> {
  const event = await loadEvent.maybe(deps.db, sandboxId, eventId);
  if (event === undefined || event.event_type !== "agent.file_edited")
    throw new AppError("event.not_found", "this is no file change of this sandbox");
  const data = event.event_data as Readonly<Record<string, unknown>>;
  const artifact = ArtifactId.safeParse(data["full_diff_artifact"]);
  // An event that names an artifact may still show the beginning inline.
  const diff = artifact.success
    ? await text((await openArtifact(deps, sandboxId, artifact.data)).bytes)
    : toText(data["full_diff"]);
  if (diff === undefined) throw new AppError("artifact.not_found", "the worker sent no complete diff with this event");
  return { file_path: toText(data["file_path"]) ?? "", change_type: toText(data["change_type"]) ?? "modified", diff };
}
