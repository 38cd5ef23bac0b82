/** A ticket: what somebody wants done. Its tasks do it. */
import { z } from "zod";
import { ProjectId, TicketId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Timestamp } from "../time.ts";
import { GitHubName } from "./pull-request.ts";

export const Priority = z
  .string()
  .transform((text) => text.toUpperCase())
  .pipe(z.enum(["CRITICAL", "HIGH", "MEDIUM", "LOW"]));
export type Priority = z.infer<typeof Priority>;

export const PHASES = [
  "PHASE_BACKLOG",
  "PHASE_REQUIREMENTS",
  "PHASE_DESIGN",
  "PHASE_IMPLEMENTATION",
  "PHASE_TESTING",
  "PHASE_DEPLOYMENT",
  "PHASE_DONE",
] as const;
export const PhaseId = z.enum(PHASES);
export type PhaseId = z.infer<typeof PhaseId>;

export const TicketStatus = z.enum(["backlog", "analyzing", "building", "building-done", "testing", "done"]);
export type TicketStatus = z.infer<typeof TicketStatus>;

export const ApprovalStatus = z.enum(["pending_review", "approved", "rejected", "timed_out"]);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

export const BlockedReason = z.enum(["dependency", "waiting_on_clarification", "failing_checks", "environment"]);
export type BlockedReason = z.infer<typeof BlockedReason>;

export const WorkflowMode = z.enum(["quick", "spec_driven"]);

const Title = z.string().trim().min(1).max(500);
const Description = z.string().max(100_000);
const TicketRefs = z.array(TicketId).max(200);

export const NewTicket = z.strictObject({
  title: Title,
  description: Description.optional(),
  project_id: ProjectId.optional(),
  /** With `github_repo`: the project of this repository, made if there is none and the caller may. A project that is named must have it. */
  github_owner: GitHubName.optional(),
  github_repo: GitHubName.optional(),
  phase_id: PhaseId.default("PHASE_REQUIREMENTS"),
  priority: Priority.default("MEDIUM"),
  ticket_type: z.string().min(1).max(50).optional(),
  check_duplicates: z.boolean().default(true),
  similarity_threshold: z.number().min(0).max(1).default(0.85),
  /** Made although there are tickets like it. */
  force_create: z.boolean().default(false),
  workflow_mode: WorkflowMode.optional(),
  dependencies: z.strictObject({ blocked_by: TicketRefs.default([]), blocks: TicketRefs.default([]) }).optional(),
  context: JsonObject.optional(),
});
export type NewTicket = z.infer<typeof NewTicket>;

export const TicketChange = z.strictObject({
  title: Title.optional(),
  description: Description.nullable().optional(),
  priority: Priority.optional(),
  phase_id: PhaseId.optional(),
  status: TicketStatus.optional(),
  context: JsonObject.optional(),
});
export type TicketChange = z.infer<typeof TicketChange>;

export const Ticket = z.object({
  id: TicketId,
  project_id: ProjectId,
  title: z.string(),
  description: z.string().nullable(),
  ticket_type: z.string().nullable(),
  phase_id: PhaseId,
  previous_phase_id: PhaseId.nullable(),
  status: TicketStatus,
  priority: z.enum(["CRITICAL", "HIGH", "MEDIUM", "LOW"]),
  is_blocked: z.boolean(),
  blocked_reason: BlockedReason.nullable(),
  blocked_at: Timestamp.nullable(),
  approval_status: ApprovalStatus,
  approval_deadline_at: Timestamp.nullable(),
  rejection_reason: z.string().nullable(),
  workflow_mode: WorkflowMode.nullable(),
  context: JsonObject,
  dependencies: z.object({ blocked_by: z.array(TicketId), blocks: z.array(TicketId) }),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Ticket = z.infer<typeof Ticket>;

/** How far a ticket's tasks are. */
export const TicketProgress = z.object({
  ticket_id: TicketId,
  status: TicketStatus,
  total_tasks: z.int(),
  by_status: z.record(z.string(), z.int()),
  completed: z.int(),
  percent: z.number(),
});
export type TicketProgress = z.infer<typeof TicketProgress>;
