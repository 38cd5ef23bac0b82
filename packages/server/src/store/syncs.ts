/** Points that several tasks reach. */
import { ProjectId, TaskId } from "@drover/contract";
import { z } from "zod";
import { query } from "./query.ts";
import { sql } from "./sql.ts";
import { SAMPLE_TASK } from "./tasks.ts";

const SyncRow = z.object({
  id: z.string(),
  project_id: ProjectId,
  task_ids: z.array(TaskId),
  required_count: z.number(),
  completed_count: z.number(),
  status: z.enum(["waiting", "reached", "timed_out"]),
  deadline_at: z.date().nullable(),
  created_at: z.date(),
  ended_at: z.date().nullable(),
});
export type SyncRow = z.infer<typeof SyncRow>;

const done = sql`(select count(*) from tasks t where t.id = any(s.task_ids) and t.status = 'completed')::integer`;
const columns = sql`s.id, s.project_id, s.task_ids, s.required_count, ${done} as completed_count, s.status, s.deadline_at, s.created_at, s.ended_at`;

export interface SyncDraft {
  readonly id: string;
  readonly project_id: string;
  readonly task_ids: readonly string[];
  readonly required_count: number;
  readonly deadline_at: Date | null;
}

export const insertSync = query(
  "task_syncs.insert",
  SyncRow,
  [
    {
      id: "sync-000000000000",
      project_id: "project-00000000-0000-4000-8000-000000000000",
      task_ids: [SAMPLE_TASK],
      required_count: 1,
      deadline_at: null,
    },
  ],
  (draft: SyncDraft) => sql`
  insert into task_syncs as s (id, project_id, task_ids, required_count, deadline_at)
  values (${draft.id}, ${draft.project_id}, ${draft.task_ids}::text[], ${draft.required_count}, ${draft.deadline_at})
  returning ${columns}`,
);

export const loadSync = query(
  "task_syncs.load",
  SyncRow,
  ["sync-000000000000"],
  (id: string) => sql`select ${columns} from task_syncs s where s.id = ${id}`,
);

/** Those that are reached, or whose time is over. */
export const listEndedSyncs = query(
  "task_syncs.ended",
  z.object({ id: z.string() }),
  [10],
  (limit: number) => sql`
  select s.id from task_syncs s where s.status = 'waiting' and (${done} >= s.required_count or s.deadline_at <= now())
  order by s.id limit ${limit}`,
);

/** Nothing is returned when somebody else has ended it. Reached goes before late. */
export const endSync = query(
  "task_syncs.end",
  SyncRow,
  ["sync-000000000000"],
  (id: string) => sql`
  update task_syncs s set status = case when ${done} >= s.required_count then 'reached' else 'timed_out' end, ended_at = now()
  where s.id = ${id} and s.status = 'waiting' returning ${columns}`,
);
