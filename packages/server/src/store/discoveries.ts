/** What agents found while they worked on something else, and joins of several tasks into one. */
import { MergeStrategy, TaskId, TicketId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, sql } from "./sql.ts";
import { SAMPLE_TASK } from "./tasks.ts";

const DiscoveryRow = z.object({
  id: z.string(),
  source_task_id: TaskId,
  ticket_id: TicketId,
  discovery_type: z.string(),
  description: z.string(),
  spawned_task_ids: z.array(TaskId),
  priority_boost: z.boolean(),
  resolution_status: z.enum(["open", "in_progress", "resolved", "invalid"]),
  discovered_at: z.date(),
});
export type DiscoveryRow = z.infer<typeof DiscoveryRow>;

const columns = sql`d.id, d.source_task_id, d.ticket_id, d.discovery_type, d.description, d.spawned_task_ids, d.priority_boost,
  d.resolution_status, d.discovered_at`;

export type DiscoveryDraft = Omit<DiscoveryRow, "resolution_status" | "discovered_at">;

export const insertDiscovery = query(
  "task_discoveries.insert",
  DiscoveryRow,
  [
    {
      id: "discovery-000000000000",
      source_task_id: SAMPLE_TASK,
      ticket_id: SAMPLE_TASK as string as TicketId,
      discovery_type: "bug",
      description: "a",
      spawned_task_ids: [],
      priority_boost: false,
    },
  ],
  (draft: DiscoveryDraft) => sql`
  insert into task_discoveries as d (id, source_task_id, ticket_id, discovery_type, description, spawned_task_ids, priority_boost)
  values (${draft.id}, ${draft.source_task_id}, ${draft.ticket_id}, ${draft.discovery_type}, ${draft.description},
    ${draft.spawned_task_ids}::text[], ${draft.priority_boost})
  returning ${columns}`,
);

export const listDiscoveriesOf = query(
  "task_discoveries.list",
  DiscoveryRow,
  [{ projectId: "a" }, 10],
  (
    scope: { readonly ticketId: string } | { readonly projectId: string } | { readonly taskId: string },
    limit: number,
  ) => sql`
  select ${columns} from task_discoveries d
  where ${
    "ticketId" in scope
      ? sql`d.ticket_id = ${scope.ticketId}`
      : "taskId" in scope
        ? sql`d.source_task_id = ${scope.taskId}`
        : sql`d.ticket_id in (select id from tickets where project_id = ${scope.projectId})`
  }
  order by d.discovered_at, d.id limit ${limit}`,
);

export interface DiscoveryFilter {
  readonly projectId: string | null;
  readonly type: string | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

/** Newest first. */
export const listDiscoveries = query(
  "task_discoveries.page",
  DiscoveryRow,
  [{ projectId: "a", type: "bug", before: "discovery-000000000000", limit: 10 }],
  (filter: DiscoveryFilter) => sql`
  select ${columns} from task_discoveries d join tickets t on t.id = d.ticket_id
  where true ${filter.projectId === null ? empty : sql`and t.project_id = ${filter.projectId}`}
    ${filter.type === undefined ? empty : sql`and d.discovery_type = ${filter.type}`}
    ${
      filter.before === undefined
        ? empty
        : sql`and (d.discovered_at, d.id) < (select b.discovered_at, b.id from task_discoveries b where b.id = ${filter.before})`
    }
  order by d.discovered_at desc, d.id desc limit ${filter.limit}`,
);

/** The project of one that stands at the end of a page. */
export const loadDiscoveryProject = query(
  "task_discoveries.load_project",
  z.object({ project_id: z.string() }),
  ["discovery-000000000000"],
  (id: string) =>
    sql`select t.project_id from task_discoveries d join tickets t on t.id = d.ticket_id where d.id = ${id}`,
);

export const countDiscovered = query(
  "tasks.count_discovered",
  z.object({ count: z.number() }),
  ["a"],
  (ticketId: string) =>
    sql`select count(*) as count from tasks where ticket_id = ${ticketId} and discovered_by is not null`,
);

export const JoinRow = z.object({
  id: z.string(),
  continuation_task_id: TaskId,
  source_task_ids: z.array(TaskId),
  merge_strategy: MergeStrategy,
  status: z.enum(["waiting", "completed", "failed"]),
  created_at: z.date(),
  completed_at: z.date().nullable(),
});
export type JoinRow = z.infer<typeof JoinRow>;

const joinColumns = sql`j.id, j.continuation_task_id, j.source_task_ids, j.merge_strategy, j.status, j.created_at, j.completed_at`;

export const insertJoin = query(
  "task_joins.insert",
  JoinRow,
  ["join-000000000000", SAMPLE_TASK, [SAMPLE_TASK], "combine"],
  (id: string, continuation: TaskId, sources: readonly TaskId[], strategy: MergeStrategy) => sql`
  insert into task_joins as j (id, continuation_task_id, source_task_ids, merge_strategy)
  values (${id}, ${continuation}, ${sources}::text[], ${strategy}) returning ${joinColumns}`,
);

/** Joins whose sources are all completed, and those whose continuation has ended without them. */
export const listJoinable = query(
  "task_joins.joinable",
  JoinRow,
  [10],
  (limit: number) => sql`
  select ${joinColumns} from task_joins j where j.status = 'waiting' and (
    not exists (select 1 from tasks t where t.id = any(j.source_task_ids) and t.status <> 'completed')
    or exists (select 1 from tasks t where t.id = j.continuation_task_id and t.status in ('failed', 'cancelled', 'skipped')))
  order by j.created_at limit ${limit}`,
);

export const lockJoin = query(
  "task_joins.lock",
  JoinRow,
  ["join-000000000000"],
  (id: string) => sql`select ${joinColumns} from task_joins j where j.id = ${id} for update`,
);

export const endJoin = command(
  "task_joins.end",
  ["join-000000000000", "completed"],
  (id: string, status: "completed" | "failed") =>
    sql`update task_joins set status = ${status}, completed_at = now() where id = ${id}`,
);
