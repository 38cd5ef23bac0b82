/** Joins: one task waits for several and, when all are done, gets to know what they found. */
import { mergeResults } from "@drover/core";
import { AppError, type Join, type JsonObject, type NewJoin } from "@drover/contract";
import { endJoin, insertJoin, listJoinable, lockJoin, type JoinRow } from "../store/discoveries.ts";
import { insertEdges, listTasksAmong, lockEdges, lockTasks, updateTaskRow } from "../store/tasks.ts";
import { draftTaskEvent } from "./change-task.ts";
import { requireTasks } from "./create-task.ts";
import { requireNoCircle } from "./find-circle.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";
import { refreshAround } from "./requeue-tasks.ts";
import { endSyncs } from "./sync-tasks.ts";

const BATCH = 50;

const toJoin = ({ id, created_at, completed_at, ...row }: JoinRow): Join => ({
  join_id: id,
  ...row,
  created_at: created_at.toISOString(),
  completed_at: completed_at?.toISOString() ?? null,
});

/** A continuation waits for all of its sources: dependencies that are missing are added. */
export async function createJoin(
  deps: Deps,
  actor: Person,
  input: NewJoin,
  key: RequestKey | undefined,
): Promise<Join> {
  const sources = [...new Set(input.source_task_ids)];
  const joined = await createOnce(deps, key, async (tx, append) => {
    const [known] = await listTasksAmong(tx, [input.continuation_task_id]);
    const mine = actor.grant.projectId;
    if (known === undefined || (mine !== null && mine !== known.project_id)) throw new AppError("task.not_found");
    await lockEdges(tx, known.project_id);
    const [continuation] = await lockTasks(tx, [known.id]);
    if (continuation === undefined) throw new AppError("task.not_found");
    await requireTasks(tx, known.project_id, sources);
    const added = sources.filter((id) => !continuation.depends_on.includes(id));
    if (added.length > 0 && continuation.status !== "pending" && continuation.status !== "blocked")
      throw new AppError("task.illegal_transition", `a task that is ${continuation.status} waits for nothing any more`);
    await requireNoCircle(tx, known.id, added);
    await insertEdges(tx, known.id, added);
    const row = await insertJoin.one(tx, deps.ids.join(), known.id, sources, input.merge_strategy);
    const told = {
      join_id: row.id,
      source_task_ids: sources,
      continuation_task_id: known.id,
      merge_strategy: input.merge_strategy,
    };
    await append([
      draftEvent(
        deps.ids,
        { type: "join", id: row.id, projectId: known.project_id },
        { eventType: "coordination.join.created", data: told, source: "user" },
      ),
      ...(added.length === 0
        ? []
        : [
            draftTaskEvent(deps, continuation, "TASK_DEPENDENCY_UPDATED", {
              added,
              depends_on: [...continuation.depends_on, ...added],
            }),
          ]),
    ]);
    return toJoin(row);
  });
  await refreshAround(deps, [joined.continuation_task_id]);
  deps.wake("join-tasks");
  return joined;
}

async function synthesise(deps: Deps, id: string): Promise<void> {
  await writeWithEvents(deps, async (tx, append) => {
    const join = await lockJoin.maybe(tx, id);
    if (join?.status !== "waiting") return;
    const [continuation] = await lockTasks(tx, [join.continuation_task_id]);
    if (continuation === undefined) return;
    const sources = await listTasksAmong(tx, join.source_task_ids);
    const isDone = sources.every((one) => one.status === "completed");
    const entity = { type: "synthesis", id, projectId: continuation.project_id };
    const told = {
      join_id: id,
      continuation_task_id: continuation.id,
      source_task_ids: join.source_task_ids,
      merge_strategy: join.merge_strategy,
    };
    await endJoin(tx, id, isDone ? "completed" : "failed");
    if (!isDone)
      return void (await append([
        draftEvent(deps.ids, entity, { eventType: "coordination.synthesis.failed", data: told }),
      ]));
    const byId = new Map(sources.map((one) => [one.id, one.result ?? {}]));
    const merged = mergeResults(
      join.merge_strategy,
      join.source_task_ids.map((taskId) => ({ taskId, result: byId.get(taskId) ?? {} })),
    );
    const context: JsonObject = {
      ...continuation.synthesis_context,
      ...merged,
      _injected_at: deps.clock.now().toISOString(),
      _join_id: id,
      _source_task_ids: join.source_task_ids,
    };
    await updateTaskRow(tx, continuation.id, { synthesis_context: context });
    const data = { ...told, result_keys: Object.keys(merged) };
    await append([draftEvent(deps.ids, entity, { eventType: "coordination.synthesis.completed", data })]);
  });
}

/** Before a task begins it knows what came before: the dispatcher asks for this first. */
export async function joinTasksOnce(deps: Deps): Promise<{ joined: number }> {
  const found = await listJoinable(deps.db, BATCH);
  for (const { id } of found) await synthesise(deps, id);
  await endSyncs(deps);
  return { joined: found.length };
}
