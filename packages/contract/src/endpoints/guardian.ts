/** What supervision sees, and what it did. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProjectId, SandboxId } from "../ids.ts";
import { Intervention, Supervision } from "../resources/supervision.ts";
import { page, Paging } from "./page.ts";

export const guardianEndpoints = {
  getSupervision: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/supervision",
    access: "person",
    verb: "read",
    summary: "Whether a run is alive, idle, stuck or dead, and its signs of trouble with the events that make them.",
    params: z.object({ sandbox_id: SandboxId }),
    reply: Supervision,
  }),
  listInterventions: endpoint({
    method: "GET",
    path: "/guardian/interventions",
    access: "person",
    verb: "read",
    summary: "What the guardian did, newest first, with the events it saw and whether it helped.",
    query: z.strictObject({ ...Paging, sandbox_id: SandboxId.optional(), project_id: ProjectId.optional() }),
    reply: page(Intervention),
  }),
} as const;
