/** The log of a sandbox: written by its worker, read by people. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { BatchReceipt, EventReceipt, IngestEvents } from "../events/event.ts";
import { ArtifactId, EventId, SandboxId } from "../ids.ts";
import {
  AllEventsPage,
  EventPage,
  EventQuery,
  FileDiff,
  Spine,
  SpineQuery,
  StateAt,
  StateQuery,
  Trajectory,
  TrajectoryQuery,
} from "../resources/log.ts";

const sandboxRef = z.object({ sandbox_id: SandboxId });

export const eventEndpoints = {
  ingestEvents: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/events",
    access: "worker",
    summary: "Store one event or a batch; answered after commit.",
    params: sandboxRef,
    body: IngestEvents,
    reply: z.union([EventReceipt, BatchReceipt]),
  }),
  listSandboxEvents: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/events",
    access: "person",
    verb: "read",
    summary: "Events of a sandbox by filter.",
    params: sandboxRef,
    query: EventQuery,
    reply: EventPage,
  }),
  listEvents: endpoint({
    method: "GET",
    path: "/events",
    access: "person",
    verb: "read",
    summary: "Events of every project this credential may see.",
    query: EventQuery,
    reply: AllEventsPage,
  }),
  getTrajectory: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/trajectory",
    access: "person",
    verb: "read",
    summary: "What the agent did, heartbeats folded.",
    params: sandboxRef,
    query: TrajectoryQuery,
    reply: Trajectory,
  }),
  getSpine: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/spine",
    access: "person",
    verb: "read",
    summary: "The whole session as columns.",
    params: sandboxRef,
    query: SpineQuery,
    reply: Spine,
  }),
  getStateAt: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/state",
    access: "person",
    verb: "read",
    summary: "What a sandbox was when its log had come this far; without a number, what it is.",
    params: sandboxRef,
    query: StateQuery,
    reply: StateAt,
  }),
  streamSandbox: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/stream",
    access: "person",
    verb: "read",
    summary: "Server-Sent Events; Last-Event-ID is a seq.",
    params: sandboxRef,
    query: z.strictObject({ after_seq: z.coerce.number().int().nonnegative().optional() }),
  }),
  putArtifact: endpoint({
    method: "PUT",
    path: "/sandboxes/:sandbox_id/artifacts/:artifact_id",
    access: "worker",
    summary: "Store bytes under their SHA-256.",
    params: z.object({ sandbox_id: SandboxId, artifact_id: ArtifactId }),
    reply: z.object({ artifact_id: ArtifactId, size: z.int().nonnegative() }),
  }),
  getArtifact: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/artifacts/:artifact_id",
    access: "person",
    verb: "read",
    summary: "The bytes, as an attachment.",
    params: z.object({ sandbox_id: SandboxId, artifact_id: ArtifactId }),
  }),
  getFileDiff: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/file-diffs/:event_id",
    access: "person",
    verb: "read",
    summary: "The complete diff of an agent.file_edited event.",
    params: z.object({ sandbox_id: SandboxId, event_id: EventId }),
    reply: FileDiff,
  }),
} as const;
