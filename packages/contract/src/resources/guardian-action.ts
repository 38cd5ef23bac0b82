/** What a person with authority does in an emergency, and may take back. */
import { z } from "zod";
import { ProjectId, TaskId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Timestamp } from "../time.ts";
import { Priority } from "./ticket.ts";

export const GuardianActionId = z
  .string()
  .regex(/^act-[0-9a-f]{12}$/)
  .brand<"GuardianActionId">();
export type GuardianActionId = z.infer<typeof GuardianActionId>;

export const GuardianActionType = z.enum(["cancel_task", "override_priority", "reallocate_capacity"]);

const Reason = z.string().min(1).max(2_000);

/** Older programs say who they are and what they may: taken, and not believed. Both follow from the credential. */
const Claims = { initiated_by: z.string().max(255).optional(), authority: z.int().optional() };

export const EmergencyCancel = z.strictObject({ task_id: TaskId, reason: Reason, ...Claims });
export const EmergencyPriority = z.strictObject({ task_id: TaskId, new_priority: Priority, reason: Reason, ...Claims });
/** An agent is a sandbox, and its capacity is what its project may run at once; a project may be named in its place. */
export const EmergencyReallocation = z.strictObject({
  from_agent_id: z.string().min(1).max(100),
  to_agent_id: z.string().min(1).max(100),
  capacity: z.int().min(1).max(1_000),
  reason: Reason,
  ...Claims,
});
export const ActionRevert = z.strictObject({ reason: Reason, initiated_by: Claims.initiated_by });

export const GuardianAction = z.object({
  action_id: GuardianActionId,
  action_type: GuardianActionType,
  target_entity: z.string(),
  project_id: ProjectId,
  authority_level: z.literal(4),
  authority_name: z.literal("GUARDIAN"),
  reason: z.string(),
  initiated_by: z.string(),
  /** Whose authority it was done by. */
  approved_by: z.string(),
  executed_at: Timestamp,
  reverted_at: Timestamp.nullable(),
  audit_log: z.object({
    before: JsonObject,
    after: JsonObject,
    reverted_by: z.string().nullable(),
    revert_reason: z.string().nullable(),
  }),
  created_at: Timestamp,
});
export type GuardianAction = z.infer<typeof GuardianAction>;
