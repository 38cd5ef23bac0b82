/** Emergency actions of people with authority, kept for the record and taken back where that is possible. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import {
  ActionRevert,
  EmergencyCancel,
  EmergencyPriority,
  EmergencyReallocation,
  GuardianAction,
  GuardianActionId,
  GuardianActionType,
} from "../resources/guardian-action.ts";
import { page, Paging } from "./page.ts";

const byAdmin = { access: "person", verb: "administer" } as const;
const actionRef = z.object({ action_id: GuardianActionId });

export const guardianActionEndpoints = {
  emergencyCancelTask: endpoint({
    method: "POST",
    path: "/guardian/intervention/cancel-task",
    summary: "Fail a task at once and stop its sandbox.",
    body: EmergencyCancel,
    reply: GuardianAction,
    ...byAdmin,
  }),
  emergencyOverridePriority: endpoint({
    method: "POST",
    path: "/guardian/intervention/override-priority",
    summary: "Set a task's priority against all else.",
    body: EmergencyPriority,
    reply: GuardianAction,
    ...byAdmin,
  }),
  emergencyReallocate: endpoint({
    method: "POST",
    path: "/guardian/intervention/reallocate",
    summary: "Move room for tasks from one agent's project to another's.",
    body: EmergencyReallocation,
    reply: GuardianAction,
    ...byAdmin,
  }),
  listGuardianActions: endpoint({
    method: "GET",
    path: "/guardian/actions",
    access: "person",
    verb: "read",
    summary: "Emergency actions, newest first.",
    query: z.strictObject({
      ...Paging,
      limit: z.coerce.number().int().min(1).max(1_000).default(100),
      action_type: GuardianActionType.optional(),
      target_entity: z.string().min(1).max(255).optional(),
    }),
    reply: page(GuardianAction),
  }),
  getGuardianAction: endpoint({
    method: "GET",
    path: "/guardian/actions/:action_id",
    access: "person",
    verb: "read",
    summary: "One emergency action with what was before and after.",
    params: actionRef,
    reply: GuardianAction,
  }),
  revertGuardianAction: endpoint({
    method: "POST",
    path: "/guardian/actions/:action_id/revert",
    summary: "Take an emergency action back: the old priority, or another try at the task.",
    params: actionRef,
    body: ActionRevert,
    reply: GuardianAction,
    ...byAdmin,
  }),
} as const;
