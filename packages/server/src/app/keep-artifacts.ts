/** Artifacts: bytes that are too large for an event, reachable only from their own sandbox. */
import { text } from "node:stream/consumers";
import type { Readable } from "node:stream";
import { AppError, ArtifactId, type EventId, type FileDiff, type SandboxId } from "@drover/contract";
import { insertArtifact, loadArtifact } from "../store/artifacts.ts";
import { loadEvent } from "../store/events.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import type { WorkerIdentity } from "./ingest-events.ts";

const MEBIBYTE = 1024 * 1024;

export async function putArtifact(deps: Deps, worker: WorkerIdentity, id: ArtifactId, bytes: Readable) {
  await loadForWorker(deps.db, worker);
  // Whatever was refused half-way is read to its end and thrown away, else the caller never comes to read our answer.
  const { size } = await deps.blobs
    .put(id, bytes, deps.config.artifactLimitMb * MEBIBYTE)
    .finally(() => bytes.resume());
  await insertArtifact(deps.db, worker.sandboxId, id, size);
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
