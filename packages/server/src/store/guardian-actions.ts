/** Emergency actions, for the record. */
import { GuardianActionId, GuardianActionType, ProjectId, type JsonObject } from "@drover/contract";
import { z } from "zod";
import { NEWEST_SAMPLE, newest, type NewestFilter } from "./newest.ts";
import { command, query } from "./query.ts";
import { empty, json, sql } from "./sql.ts";

const SAMPLE_ID = "act-000000000000" as GuardianActionId;

const ActionRow = z.object({
  id: GuardianActionId,
  position: z.number(),
  project_id: ProjectId,
  action_type: GuardianActionType,
  target_entity: z.string(),
  reason: z.string(),
  initiated_by: z.string(),
  before_state: z.custom<JsonObject>(),
  after_state: z.custom<JsonObject>(),
  executed_at: z.date(),
  reverted_at: z.date().nullable(),
  reverted_by: z.string().nullable(),
  revert_reason: z.string().nullable(),
});
export type ActionRow = z.infer<typeof ActionRow>;

const columns = sql`id, position, project_id, action_type, target_entity, reason, initiated_by, before_state, after_state, executed_at,
  reverted_at, reverted_by, revert_reason`;

export type NewAction = Pick<
  ActionRow,
  "id" | "project_id" | "action_type" | "target_entity" | "reason" | "initiated_by" | "before_state" | "after_state"
>;

export const insertAction = query(
  "guardian_actions.insert",
  ActionRow,
  [
    {
      id: SAMPLE_ID,
      project_id: "project-00000000-0000-0000-0000-000000000000" as ProjectId,
      action_type: "cancel_task",
      target_entity: "task",
      reason: "",
      initiated_by: "tok-000000000000",
      before_state: {},
      after_state: {},
    },
  ],
  (one: NewAction) => sql`
  insert into guardian_actions (id, project_id, action_type, target_entity, reason, initiated_by, before_state, after_state)
  values (${one.id}, ${one.project_id}, ${one.action_type}, ${one.target_entity}, ${one.reason}, ${one.initiated_by},
    ${json(one.before_state)}::jsonb, ${json(one.after_state)}::jsonb) returning ${columns}`,
);

export const loadAction = query(
  "guardian_actions.load",
  ActionRow,
  [SAMPLE_ID],
  (id: GuardianActionId) => sql`select ${columns} from guardian_actions where id = ${id}`,
);

/** Once: none when it was taken back already. */
export const claimRevert = query(
  "guardian_actions.claim_revert",
  ActionRow,
  [SAMPLE_ID, "tok-000000000000", ""],
  (id: GuardianActionId, by: string, reason: string) => sql`
  update guardian_actions set reverted_at = now(), reverted_by = ${by}, revert_reason = ${reason}
  where id = ${id} and reverted_at is null returning ${columns}`,
);

export const releaseRevert = command(
  "guardian_actions.release_revert",
  [SAMPLE_ID],
  (id: GuardianActionId) => sql`
  update guardian_actions set reverted_at = null, reverted_by = null, revert_reason = null where id = ${id}`,
);

export const listActions = query(
  "guardian_actions.list",
  ActionRow,
  [{ ...NEWEST_SAMPLE, type: undefined, target: undefined }],
  (by: NewestFilter & { readonly type: string | undefined; readonly target: string | undefined }) => sql`
  select ${columns} from guardian_actions ${newest(
    by,
    sql`${by.type === undefined ? empty : sql`and action_type = ${by.type}`}
    ${by.target === undefined ? empty : sql`and target_entity = ${by.target}`}`,
  )}`,
);
