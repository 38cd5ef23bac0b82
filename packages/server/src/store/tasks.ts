/** Tasks: rows, lists, and what they wait for. */
import { PhaseId, ProjectId, SandboxId, TaskId, TaskStatus, TicketId, type JsonObject } from "@drover/contract";
import { z } from "zod";
import type { Statement } from "../ports/db.ts";
import { command, query } from "./query.ts";
import { empty, join, json, sql } from "./sql.ts";

export const SAMPLE_TASK = "00000000-0000-4000-8000-000000000000" as TaskId;
const SAMPLE_TICKET = "00000000-0000-4000-8000-000000000001" as TicketId;
const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;

export const TaskRow = z.object({
  id: TaskId,
  project_id: ProjectId,
  ticket_id: TicketId,
  parent_task_id: TaskId.nullable(),
  phase_id: PhaseId,
  task_type: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  priority: z.enum(["CRITICAL", "HIGH", "MEDIUM", "LOW"]),
  status: TaskStatus,
  status_reason: z.string().nullable(),
  status_changed_at: z.date(),
  sandbox_id: SandboxId.nullable(),
  claimed_by: z.string().nullable(),
  conversation_id: z.string().nullable(),
  owned_files: z.array(z.string()),
  required_capabilities: z.array(z.string()),
  execution_config: z.custom<JsonObject>(),
  result: z.custom<JsonObject | null>(),
  error_message: z.string().nullable(),
  synthesis_context: z.custom<JsonObject | null>(),
  retry_count: z.number(),
  max_retries: z.number(),
  not_before: z.date().nullable(),
  timeout_seconds: z.number().nullable(),
  deadline_at: z.date().nullable(),
  estimated_seconds: z.number().nullable(),
  validation_enabled: z.boolean(),
  validation_iteration: z.number(),
  last_validation_feedback: z.string().nullable(),
  review_done: z.boolean(),
  discovered_by: z.string().nullable(),
  created_by: z.string(),
  created_at: z.date(),
  updated_at: z.date(),
  claimed_at: z.date().nullable(),
  assigned_at: z.date().nullable(),
  started_at: z.date().nullable(),
  completed_at: z.date().nullable(),
  unmet: z.number(),
  blockers: z.number(),
  is_held: z.boolean(),
  depends_on: z.array(TaskId),
});
export type TaskRow = z.infer<typeof TaskRow>;

const columns = sql`t.id, t.project_id, t.ticket_id, t.parent_task_id, t.phase_id, t.task_type, t.title, t.description, t.priority,
  t.status, t.status_reason, t.status_changed_at, t.sandbox_id, t.claimed_by, t.conversation_id, t.owned_files,
  t.required_capabilities, t.execution_config, t.result, t.error_message, t.synthesis_context, t.retry_count, t.max_retries,
  t.not_before, t.timeout_seconds, t.deadline_at, t.estimated_seconds, t.validation_enabled, t.validation_iteration,
  t.last_validation_feedback, t.review_done, t.discovered_by, t.created_by, t.created_at, t.updated_at, t.claimed_at, t.assigned_at,
  t.started_at, t.completed_at, t.unmet, t.blockers, t.is_held,
  array(select depends_on from task_dependencies where task_id = t.id order by depends_on) as depends_on`;

export interface TaskDraft {
  readonly id: TaskId;
  readonly project_id: ProjectId;
  readonly ticket_id: TicketId;
  readonly parent_task_id: string | null;
  readonly phase_id: string;
  readonly task_type: string;
  readonly title: string;
  readonly description: string | null;
  readonly priority: string;
  readonly owned_files: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly execution_config: JsonObject;
  readonly max_retries: number;
  readonly timeout_seconds: number | null;
  readonly deadline_at: Date | null;
  readonly estimated_seconds: number | null;
  readonly validation_enabled: boolean;
  readonly discovered_by: string | null;
  readonly created_by: string;
}

const SAMPLE_DRAFT: TaskDraft = {
  id: SAMPLE_TASK,
  project_id: SAMPLE_PROJECT,
  ticket_id: SAMPLE_TICKET,
  parent_task_id: null,
  phase_id: "PHASE_IMPLEMENTATION",
  task_type: "implementation",
  title: "a",
  description: null,
  priority: "LOW",
  owned_files: [],
  required_capabilities: [],
  execution_config: {},
  max_retries: 3,
  timeout_seconds: null,
  deadline_at: null,
  estimated_seconds: null,
  validation_enabled: false,
  discovered_by: null,
  created_by: "tok-000000000000",
};

export const insertTask = command(
  "tasks.insert",
  [SAMPLE_DRAFT],
  (draft: TaskDraft) => sql`
  insert into tasks (id, project_id, ticket_id, parent_task_id, phase_id, task_type, title, description, priority, status,
    owned_files, required_capabilities, execution_config, max_retries, timeout_seconds, deadline_at, estimated_seconds,
    validation_enabled, discovered_by, created_by)
  values (${draft.id}, ${draft.project_id}, ${draft.ticket_id}, ${draft.parent_task_id}, ${draft.phase_id}, ${draft.task_type},
    ${draft.title}, ${draft.description}, ${draft.priority}, 'pending', ${draft.owned_files}::text[],
    ${draft.required_capabilities}::text[], ${json(draft.execution_config)}::jsonb, ${draft.max_retries}, ${draft.timeout_seconds},
    ${draft.deadline_at}, ${draft.estimated_seconds}, ${draft.validation_enabled}, ${draft.discovered_by}, ${draft.created_by})`,
);

export const loadTask = query(
  "tasks.load",
  TaskRow,
  [SAMPLE_TASK],
  (id: string) => sql`select ${columns} from tasks t where t.id = ${id}`,
);

export const loadTaskProject = query(
  "tasks.project",
  z.object({ project_id: ProjectId }),
  [SAMPLE_TASK],
  (id: TaskId) => sql`select project_id from tasks where id = ${id}`,
);

/** Locks in the order of ids, before any sandbox and before the log, so that two transactions never wait for each other. */
export const lockTasks = query(
  "tasks.lock",
  TaskRow,
  [[SAMPLE_TASK]],
  (ids: readonly string[]) =>
    sql`select ${columns} from tasks t where t.id = any(${ids}::text[]) order by t.id limit 10000 for update of t`,
);

export interface TaskFilter {
  readonly projectId: string | null;
  readonly ticketId: string | undefined;
  readonly statuses: readonly string[] | undefined;
  readonly phase: string | undefined;
  readonly hasSandbox: boolean | undefined;
  readonly sandboxId: string | undefined;
  readonly text: string | undefined;
  readonly before: string | undefined;
  readonly isTimedOut: boolean;
  readonly limit: number;
}

const filterConditions = (filter: TaskFilter): readonly Statement[] => [
  ...(filter.projectId === null ? [] : [sql`t.project_id = ${filter.projectId}`]),
  ...(filter.ticketId === undefined ? [] : [sql`t.ticket_id = ${filter.ticketId}`]),
  ...(filter.statuses === undefined ? [] : [sql`t.status = any(${filter.statuses}::text[])`]),
  ...(filter.phase === undefined ? [] : [sql`t.phase_id = ${filter.phase}`]),
  ...(filter.sandboxId === undefined ? [] : [sql`t.sandbox_id = ${filter.sandboxId}`]),
  ...(filter.hasSandbox === undefined ? [] : [sql`(t.sandbox_id is not null) = ${filter.hasSandbox}`]),
  ...(filter.text === undefined
    ? []
    : [sql`position(lower(${filter.text}) in lower(concat_ws(' ', t.id, t.title, t.description, t.task_type))) > 0`]),
  ...(filter.isTimedOut
    ? [
        sql`t.status = 'running' and t.timeout_seconds is not null and t.started_at + make_interval(secs => t.timeout_seconds) < now()`,
      ]
    : []),
  ...(filter.before === undefined
    ? []
    : [sql`(t.created_at, t.id) < (select created_at, id from tasks where id = ${filter.before})`]),
];

export const listTasks = query(
  "tasks.list",
  TaskRow,
  [
    {
      projectId: null,
      ticketId: SAMPLE_TICKET,
      statuses: ["pending"],
      phase: "PHASE_TESTING",
      hasSandbox: true,
      sandboxId: "a",
      text: "a",
      before: SAMPLE_TASK,
      isTimedOut: true,
      limit: 10,
    },
  ],
  (filter: TaskFilter) => {
    const conditions = filterConditions(filter);
    return sql`select ${columns} from tasks t ${conditions.length === 0 ? empty : sql`where ${join(conditions, sql` and `)}`}
      order by t.created_at desc, t.id desc limit ${filter.limit}`;
  },
);

export const listTicketTasks = query(
  "tasks.of_ticket",
  TaskRow,
  [SAMPLE_TICKET, 10],
  (ticketId: string, limit: number) =>
    sql`select ${columns} from tasks t where t.ticket_id = ${ticketId} order by t.created_at, t.id limit ${limit}`,
);

export const listProjectTasks = query(
  "tasks.of_project",
  TaskRow,
  [SAMPLE_PROJECT, 10],
  (projectId: string, limit: number) =>
    sql`select ${columns} from tasks t where t.project_id = ${projectId} order by t.created_at, t.id limit ${limit}`,
);

/** Tasks that wait for one of these. */
export const listDependents = query(
  "tasks.dependents",
  TaskRow,
  [[SAMPLE_TASK], 10],
  (ids: readonly string[], limit: number) => sql`
  select ${columns} from tasks t
  where t.id in (select task_id from task_dependencies where depends_on = any(${ids}::text[]))
  order by t.created_at, t.id limit ${limit}`,
);

/** These tasks, what waits for them and what they wait for: whatever a change of their state concerns. */
export const listNeighbours = query(
  "tasks.neighbours",
  z.object({ id: TaskId }),
  [[SAMPLE_TASK]],
  (ids: readonly string[]) => sql`
  select id from unnest(${ids}::text[]) id union select task_id from task_dependencies where depends_on = any(${ids}::text[])
  union select depends_on from task_dependencies where task_id = any(${ids}::text[])`,
);

/** Pending tasks that wait for this one, which is completed, and for nothing else. */
export const listUnblocked = query(
  "tasks.unblocked",
  z.object({ id: TaskId }),
  [SAMPLE_TASK],
  (id: string) => sql`
  select t.id from task_dependencies e join tasks t on t.id = e.task_id
  where e.depends_on = ${id} and t.status = 'pending' and not exists (select 1 from task_dependencies x
    join tasks o on o.id = x.depends_on where x.task_id = t.id and o.id <> ${id} and o.status <> 'completed')
  order by t.id limit 1000`,
);

export const listTasksAmong = query(
  "tasks.among",
  TaskRow,
  [[SAMPLE_TASK]],
  (ids: readonly string[]) =>
    sql`select ${columns} from tasks t where t.id = any(${ids}::text[]) order by t.created_at, t.id limit 10000`,
);

/** Whoever changes dependencies of a ticket's tasks holds this to the end of the transaction, or two edges that are fine
 *  each for itself could close a cycle. */
export const lockEdges = query(
  "task_dependencies.lock",
  z.object({ locked: z.literal(1) }),
  [SAMPLE_PROJECT],
  (projectId: string) =>
    sql`select 1 as locked from (select pg_advisory_xact_lock(hashtext('drover.edges'), hashtext(${projectId}))) as lock`,
);

export const insertEdges = command(
  "task_dependencies.insert",
  [SAMPLE_TASK, [SAMPLE_TASK]],
  (taskId: string, dependsOn: readonly string[]) => sql`
  insert into task_dependencies (task_id, depends_on) select ${taskId}, other from unnest(${dependsOn}::text[]) other
  where other <> ${taskId} on conflict do nothing`,
);

export const deleteEdges = command(
  "task_dependencies.delete",
  [SAMPLE_TASK, [SAMPLE_TASK]],
  (taskId: string, dependsOn: readonly string[]) =>
    sql`delete from task_dependencies where task_id = ${taskId} and depends_on = any(${dependsOn}::text[])`,
);

/** Writes what may change, from a row whose lock is held. */
export const updateTaskRow = command(
  "tasks.update",
  [SAMPLE_TASK, { title: "a" }],
  (id: string, row: Partial<TaskRow>) => {
    const to = <K extends keyof TaskRow>(key: K, value: (given: TaskRow[K]) => Statement): Statement[] =>
      row[key] === undefined ? [] : [value(row[key])];
    const sets = [
      ...to("title", (v) => sql`title = ${v}`),
      ...to("description", (v) => sql`description = ${v}`),
      ...to("priority", (v) => sql`priority = ${v}`),
      ...to("status", (v) => sql`status = ${v}`),
      ...to("status_reason", (v) => sql`status_reason = ${v}`),
      ...to("status_changed_at", (v) => sql`status_changed_at = ${v}`),
      ...to("sandbox_id", (v) => sql`sandbox_id = ${v}`),
      ...to("claimed_by", (v) => sql`claimed_by = ${v}`),
      ...to("conversation_id", (v) => sql`conversation_id = ${v}`),
      ...to("owned_files", (v) => sql`owned_files = ${v}::text[]`),
      ...to("result", (v) => sql`result = ${v === null ? null : json(v)}::jsonb`),
      ...to("error_message", (v) => sql`error_message = ${v}`),
      ...to("synthesis_context", (v) => sql`synthesis_context = ${v === null ? null : json(v)}::jsonb`),
      ...to("retry_count", (v) => sql`retry_count = ${v}`),
      ...to("not_before", (v) => sql`not_before = ${v}`),
      ...to("timeout_seconds", (v) => sql`timeout_seconds = ${v}`),
      ...to("deadline_at", (v) => sql`deadline_at = ${v}`),
      ...to("estimated_seconds", (v) => sql`estimated_seconds = ${v}`),
      ...to("validation_iteration", (v) => sql`validation_iteration = ${v}`),
      ...to("last_validation_feedback", (v) => sql`last_validation_feedback = ${v}`),
      ...to("review_done", (v) => sql`review_done = ${v}`),
      ...to("claimed_at", (v) => sql`claimed_at = ${v}`),
      ...to("assigned_at", (v) => sql`assigned_at = ${v}`),
      ...to("started_at", (v) => sql`started_at = ${v}`),
      ...to("completed_at", (v) => sql`completed_at = ${v}`),
    ];
    return sql`update tasks set ${join([...sets, sql`updated_at = now()`])} where id = ${id}`;
  },
);
