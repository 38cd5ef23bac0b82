/** What a worker asks for besides events and messages. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { EventReceipt } from "../events/event.ts";
import { ArtifactId, SandboxId } from "../ids.ts";
import { Assignment, Heartbeat } from "../resources/sandbox.ts";

const sandboxRef = z.object({ sandbox_id: SandboxId });

export const workerEndpoints = {
  getAssignment: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/assignment",
    access: "worker",
    summary: "What the worker is to do.",
    params: sandboxRef,
    reply: Assignment,
  }),
  getRestored: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/restore/:artifact_id",
    access: "worker",
    summary: "Bytes that the assignment's `resume` names.",
    params: z.object({ sandbox_id: SandboxId, artifact_id: ArtifactId }),
  }),
  heartbeat: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/heartbeat",
    access: "worker",
    summary: "The worker is alive.",
    params: sandboxRef,
    body: Heartbeat.default({ status: "alive" }),
    reply: EventReceipt,
  }),
} as const;
