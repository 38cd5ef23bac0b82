/** Pull requests and convergence merges. */
import type { MergeAttemptId, MergeAttemptStatus } from "@drover/contract";
import { MergeAttempt, ProjectId, PullRequestId, PullRequestState } from "@drover/contract";
import { z } from "zod";
import type { Statement } from "../ports/db.ts";
import { command, query } from "./query.ts";
import { join, json, sql } from "./sql.ts";

const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;
const SAMPLE_ID = "pr-000000000000" as PullRequestId;
const SAMPLE_ATTEMPT = "merge-000000000000" as MergeAttemptId;

const PullRow = z.object({
  id: PullRequestId,
  project_id: ProjectId,
  ticket_id: z.string().nullable(),
  number: z.number(),
  title: z.string(),
  body: z.string(),
  head_branch: z.string(),
  base_branch: z.string(),
  state: PullRequestState,
  url: z.string().nullable(),
  head_commit: z.string().nullable(),
  merge_commit: z.string().nullable(),
  created_at: z.date(),
  merged_at: z.date().nullable(),
  closed_at: z.date().nullable(),
});
export type PullRow = z.infer<typeof PullRow>;

const columns = sql`id, project_id, ticket_id, number, title, body, head_branch, base_branch, state, url, head_commit, merge_commit,
  created_at, merged_at, closed_at`;

export interface PullDraft {
  readonly id: PullRequestId;
  readonly project_id: ProjectId;
  readonly ticket_id: string | null;
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly head_branch: string;
  readonly base_branch: string;
  readonly url: string | null;
  readonly head_commit: string | null;
}

/** Nothing is returned when the host's number is known already. */
export const insertPull = query(
  "pull_requests.insert",
  PullRow,
  [
    {
      id: SAMPLE_ID,
      project_id: SAMPLE_PROJECT,
      ticket_id: null,
      number: 1,
      title: "a",
      body: "",
      head_branch: "a",
      base_branch: "main",
      url: null,
      head_commit: null,
    },
  ],
  (draft: PullDraft) => sql`
  insert into pull_requests (id, project_id, ticket_id, number, title, body, head_branch, base_branch, state, url, head_commit)
  select ${draft.id}, id, ${draft.ticket_id}, ${draft.number}, ${draft.title}, ${draft.body}, ${draft.head_branch},
    ${draft.base_branch}, 'open', ${draft.url}, ${draft.head_commit}
  from projects where id = ${draft.project_id}
  on conflict (project_id, number) do nothing returning ${columns}`,
);

export const loadPull = query(
  "pull_requests.load",
  PullRow,
  [SAMPLE_ID],
  (id: PullRequestId) => sql`select ${columns} from pull_requests where id = ${id}`,
);

export const findPull = query(
  "pull_requests.find",
  PullRow,
  [SAMPLE_PROJECT, 1],
  (projectId: ProjectId, number: number) =>
    sql`select ${columns} from pull_requests where project_id = ${projectId} and number = ${number}`,
);

export const lockPull = query(
  "pull_requests.lock",
  PullRow,
  [SAMPLE_ID],
  (id: PullRequestId) => sql`select ${columns} from pull_requests where id = ${id} for update`,
);

/** The newest one of a branch. */
export const findBranchPull = query(
  "pull_requests.find_branch",
  PullRow,
  [SAMPLE_PROJECT, "a"],
  (projectId: ProjectId, branch: string) => sql`
  select ${columns} from pull_requests where project_id = ${projectId} and head_branch = ${branch}
  order by created_at desc, id desc limit 1`,
);

export interface PullEnd {
  readonly state: "merged" | "closed" | "open";
  readonly head_commit: string | null;
  readonly merge_commit: string | null;
}

export const updatePullState = query(
  "pull_requests.update_state",
  PullRow,
  [SAMPLE_ID, { state: "merged", head_commit: null, merge_commit: null }],
  (id: PullRequestId, end: PullEnd) => sql`
  update pull_requests set state = ${end.state}, head_commit = coalesce(${end.head_commit}, head_commit), merge_commit = ${end.merge_commit},
    merged_at = ${end.state === "merged" ? sql`now()` : sql`null`}, closed_at = ${end.state === "open" ? sql`null` : sql`now()`}
  where id = ${id} returning ${columns}`,
);

export interface PullFilter {
  readonly projectId: string | null;
  readonly ticketId: string | undefined;
  readonly state: string | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

const toConditions = (filter: PullFilter, table: Statement): readonly Statement[] => [
  sql`true`,
  ...(filter.projectId === null ? [] : [sql`project_id = ${filter.projectId}`]),
  ...(filter.ticketId === undefined ? [] : [sql`ticket_id = ${filter.ticketId}`]),
  ...(filter.before === undefined
    ? []
    : [sql`(created_at, id) < (select created_at, id from ${table} where id = ${filter.before})`]),
];

const SAMPLE_FILTER = { projectId: SAMPLE_PROJECT, ticketId: "a", state: "open", before: SAMPLE_ID, limit: 10 };

export const listPulls = query("pull_requests.list", PullRow, [SAMPLE_FILTER], (filter: PullFilter) => {
  const state = filter.state === undefined ? [] : [sql`state = ${filter.state}`];
  return sql`select ${columns} from pull_requests
    where ${join([...toConditions(filter, sql`pull_requests`), ...state], sql` and `)}
    order by created_at desc, id desc limit ${filter.limit}`;
});

/** Page by page: as many as there are, each is looked at. */
export const listOpenPulls = query(
  "pull_requests.list_open",
  PullRow,
  ["", 10],
  (after: string, limit: number) =>
    sql`select ${columns} from pull_requests where state = 'open' and id > ${after} order by id limit ${limit}`,
);

const MergeRow = MergeAttempt.extend({ created_at: z.date(), completed_at: z.date().nullable() });
export type MergeRow = z.infer<typeof MergeRow>;

const mergeColumns = sql`id, project_id, ticket_id, task_id, source_task_ids, target_branch, status, merge_order, rounds, conflicts,
  total_conflicts, error_message, merge_task_id, from_commit, result_commit, created_at, completed_at`;

export interface MergeDraft {
  readonly id: MergeAttemptId;
  readonly project_id: ProjectId;
  readonly ticket_id: string;
  readonly task_id: string | null;
  readonly source_task_ids: readonly string[];
  readonly target_branch: string;
}

export const insertMergeAttempt = command(
  "merge_attempts.insert",
  [
    {
      id: SAMPLE_ATTEMPT,
      project_id: SAMPLE_PROJECT,
      ticket_id: "a",
      task_id: null,
      source_task_ids: [],
      target_branch: "a",
    },
  ],
  (draft: MergeDraft) => sql`
  insert into merge_attempts (id, project_id, ticket_id, task_id, source_task_ids, target_branch, status)
  select ${draft.id}, id, ${draft.ticket_id}, ${draft.task_id}, ${json(draft.source_task_ids)}::jsonb, ${draft.target_branch}, 'in_progress'
  from projects where id = ${draft.project_id}`,
);

export interface MergeProgress {
  readonly status: MergeAttemptStatus;
  readonly merge_order: readonly string[];
  readonly rounds: MergeAttempt["rounds"];
  readonly conflicts: MergeAttempt["conflicts"];
  readonly error_message: string | null;
  readonly from_commit?: string | null;
  readonly result_commit?: string | null;
  readonly merge_task_id?: string | null;
}

/** Written after every merge, so that a death in between leaves what was done. */
export const updateMergeAttempt = query(
  "merge_attempts.update",
  MergeRow,
  [SAMPLE_ATTEMPT, { status: "completed", merge_order: [], rounds: [], conflicts: [], error_message: null }],
  (id: MergeAttemptId, progress: MergeProgress) => sql`
  update merge_attempts set status = ${progress.status}, merge_order = ${json(progress.merge_order)}::jsonb,
    rounds = ${json(progress.rounds)}::jsonb, conflicts = ${json(progress.conflicts)}::jsonb,
    total_conflicts = ${progress.conflicts.reduce((sum, one) => sum + one.files.length, 0)}::integer,
    error_message = ${progress.error_message}, from_commit = ${progress.from_commit ?? null},
    result_commit = ${progress.result_commit ?? null}, merge_task_id = ${progress.merge_task_id ?? null},
    completed_at = ${["in_progress", "resolving", "testing"].includes(progress.status) ? sql`null` : sql`now()`}
  where id = ${id} returning ${mergeColumns}`,
);

export const listMergeAttempts = query(
  "merge_attempts.list",
  MergeRow,
  [{ ...SAMPLE_FILTER, before: SAMPLE_ATTEMPT }],
  (filter: PullFilter) => sql`
  select ${mergeColumns} from merge_attempts
  where ${join(toConditions(filter, sql`merge_attempts`), sql` and `)}
  order by created_at desc, id desc limit ${filter.limit}`,
);

/** Those of a ticket that wait for their task. */
export const listOpenMerges = query(
  "merge_attempts.open",
  MergeRow,
  ["a", 10],
  (ticketId: string, limit: number) => sql`
  select ${mergeColumns} from merge_attempts where status in ('resolving', 'testing') and ticket_id = ${ticketId}
  order by created_at, id limit ${limit}`,
);

/** Those whose task is over, or gone. */
export const listSettleable = query(
  "merge_attempts.settleable",
  MergeRow,
  [10],
  (limit: number) => sql`
  select ${mergeColumns} from merge_attempts m where status in ('resolving', 'testing')
    and not exists (select 1 from tasks t where t.id = m.merge_task_id
      and t.status not in ('completed', 'failed', 'cancelled', 'skipped'))
  order by created_at, id limit ${limit}`,
);

export const findMergeOfTask = query(
  "merge_attempts.of_task",
  MergeRow,
  ["a"],
  (taskId: string) => sql`
  select ${mergeColumns} from merge_attempts where merge_task_id = ${taskId} order by created_at desc, id desc limit 1`,
);

/** Of a ticket. */
export const findLastMerge = query(
  "merge_attempts.last",
  MergeRow,
  ["a"],
  (ticketId: string) => sql`
  select ${mergeColumns} from merge_attempts where ticket_id = ${ticketId} order by created_at desc, id desc limit 1`,
);

/** Ends one that waited for its task; nothing is returned when somebody else did. */
export const endMerge = query(
  "merge_attempts.end",
  MergeRow,
  [SAMPLE_ATTEMPT, "completed", null],
  (id: MergeAttemptId, status: MergeAttemptStatus, error: string | null) => sql`
  update merge_attempts set status = ${status}, error_message = coalesce(${error}, error_message), completed_at = now()
  where id = ${id} and status in ('resolving', 'testing') returning ${mergeColumns}`,
);
