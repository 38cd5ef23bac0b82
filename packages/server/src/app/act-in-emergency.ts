/** What a person with authority does in an emergency: done at once, recorded with what was before, taken back on demand. */
import { randomBytes } from "node:crypto";
import {
  AppError,
  type GuardianAction,
  type GuardianActionId,
  type JsonObject,
  type ProjectId,
  type TaskId,
  type Priority,
} from "@drover/contract";
import {
  claimRevert,
  insertAction,
  listActions,
  loadAction,
  releaseRevert,
  type ActionRow,
  type NewAction,
} from "../store/guardian-actions.ts";
import type { Person } from "./credential.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";
import { moveRoom, moveRoomBack } from "./reallocate-capacity.ts";
import { changeTaskFields, failTask, requireTask, retryTask } from "./manage-tasks.ts";

const toAction = (row: ActionRow): GuardianAction => ({
  action_id: row.id,
  action_type: row.action_type,
  target_entity: row.target_entity,
  project_id: row.project_id,
  authority_level: 4,
  authority_name: "GUARDIAN",
  reason: row.reason,
  initiated_by: row.initiated_by,
  approved_by: row.initiated_by,
  executed_at: row.executed_at.toISOString(),
  reverted_at: row.reverted_at?.toISOString() ?? null,
  audit_log: {
    before: row.before_state,
    after: row.after_state,
    reverted_by: row.reverted_by,
    revert_reason: row.revert_reason,
  },
  created_at: row.executed_at.toISOString(),
});

const isMine = (actor: Person, projectId: string): boolean =>
  actor.grant.projectId === null || actor.grant.projectId === projectId;

/** The body names the task: what lies in another project does not exist. */
async function requireMine(deps: Deps, actor: Person, id: TaskId) {
  const task = await requireTask(deps, id);
  if (!isMine(actor, task.project_id)) throw new AppError("task.not_found");
  return task;
}

async function record(deps: Deps, action: Omit<NewAction, "id">): Promise<GuardianAction> {
  const id = `act-${randomBytes(6).toString("hex")}` as GuardianActionId;
  return writeWithEvents(deps, async (tx, append) => {
    const row = await insertAction.one(tx, { id, ...action });
    const data = {
      action_id: id,
      action_type: action.action_type,
      target: action.target_entity,
      reason: action.reason,
    };
    const told: { readonly eventType: string; readonly data: JsonObject }[] = [
      // A refused action leaves no trace, so its beginning is told with its end.
      { eventType: "guardian.intervention.started", data },
      { eventType: "guardian.intervention.completed", data },
      ...(action.action_type === "reallocate_capacity"
        ? [{ eventType: "guardian.resource.reallocated", data: { ...data, ...action.after_state } }]
        : []),
    ];
    const entity = { type: "guardian_action", id, projectId: action.project_id };
    await append(told.map((one) => draftEvent(deps.ids, entity, { ...one, source: "user" })));
    return toAction(row);
  });
}

export async function cancelInEmergency(
  deps: Deps,
  actor: Person,
  { task_id: id, reason }: { readonly task_id: TaskId; readonly reason: string },
): Promise<GuardianAction> {
  const task = await requireMine(deps, actor, id);
  const { status } = await failTask(deps, actor, id, `EMERGENCY CANCELLATION: ${reason}`);
  return record(deps, {
    project_id: task.project_id,
    action_type: "cancel_task",
    target_entity: id,
    reason,
    initiated_by: actor.tokenId,
    before_state: { status: task.status },
    after_state: { status },
  });
}

export async function overridePriority(
  deps: Deps,
  actor: Person,
  {
    task_id: id,
    new_priority,
    reason,
  }: { readonly task_id: TaskId; readonly new_priority: Priority; readonly reason: string },
): Promise<GuardianAction> {
  const task = await requireMine(deps, actor, id);
  const { priority } = await changeTaskFields(deps, actor, id, { priority: new_priority });
  return record(deps, {
    project_id: task.project_id,
    action_type: "override_priority",
    target_entity: id,
    reason,
    initiated_by: actor.tokenId,
    before_state: { priority: task.priority },
    after_state: { priority },
  });
}

export async function reallocate(
  deps: Deps,
  actor: Person,
  input: {
    readonly from_agent_id: string;
    readonly to_agent_id: string;
    readonly capacity: number;
    readonly reason: string;
  },
): Promise<GuardianAction> {
  const { from_agent_id: from, to_agent_id: to, capacity, reason } = input;
  const moved = await moveRoom(deps, actor, { from, to, capacity });
  const { fromId, toId } = moved;
  return record(deps, {
    project_id: toId,
    action_type: "reallocate_capacity",
    target_entity: to,
    reason,
    initiated_by: actor.tokenId,
    before_state: { from_project_id: fromId, to_project_id: toId, ...moved.before },
    after_state: { from_project_id: fromId, to_project_id: toId, ...moved.after, capacity },
  });
}

async function loadMine(deps: Deps, actor: Person, id: GuardianActionId): Promise<ActionRow> {
  const row = await loadAction.maybe(deps.db, id);
  if (row === undefined || !isMine(actor, row.project_id)) throw new AppError("action.not_found");
  return row;
}

export const getAction = async (deps: Deps, actor: Person, id: GuardianActionId): Promise<GuardianAction> =>
  toAction(await loadMine(deps, actor, id));

/** What undoes each: another try at the task, or the priority it had. */
const UNDO: Readonly<
  Record<ActionRow["action_type"], (deps: Deps, actor: Person, id: TaskId, before: JsonObject) => Promise<unknown>>
> = {
  cancel_task: (deps, actor, id) => retryTask(deps, actor, id),
  override_priority: (deps, actor, id, before) =>
    changeTaskFields(deps, actor, id, { priority: before["priority"] as Priority }),
  reallocate_capacity: (deps, actor, _id, before) =>
    moveRoomBack(deps, actor, {
      fromId: before["from_project_id"] as ProjectId,
      toId: before["to_project_id"] as ProjectId,
      before: { from: before["from"] as number | null, to: before["to"] as number | null },
    }),
};

export async function revertAction(
  deps: Deps,
  actor: Person,
  id: GuardianActionId,
  reason: string,
): Promise<GuardianAction> {
  const known = await loadMine(deps, actor, id);
  // Claimed first, so that two who take it back do so once.
  const row = await claimRevert.maybe(deps.db, id, actor.tokenId, reason);
  if (row === undefined) throw new AppError("action.reverted");
  await UNDO[known.action_type](deps, actor, known.target_entity as TaskId, known.before_state).catch(
    async (error: unknown) => {
      // Expected: the task has gone on, and cannot be brought back to where it was.
      await releaseRevert(deps.db, id);
      throw error;
    },
  );
  await writeWithEvents(deps, (_tx, append) =>
    append([
      draftEvent(
        deps.ids,
        { type: "guardian_action", id, projectId: row.project_id },
        {
          eventType: "guardian.intervention.reverted",
          data: { action_id: id, action_type: row.action_type, target: row.target_entity, reason },
          source: "user",
        },
      ),
    ]),
  );
  return toAction(row);
}

export async function pageActions(
  deps: Deps,
  actor: Person,
  query: {
    limit: number;
    cursor?: string | undefined;
    action_type?: string | undefined;
    target_entity?: string | undefined;
  },
) {
  const rows = await listActions(deps.db, {
    projectId: actor.grant.projectId,
    type: query.action_type,
    target: query.target_entity,
    before: parsePosition(query.cursor),
    limit: query.limit + 1,
  });
  return toPage(rows, query.limit, toAction);
}
