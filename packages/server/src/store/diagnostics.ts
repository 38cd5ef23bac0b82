/** Tickets that may be stuck, runs that stand out, and what was found out about them. */
import {
  DiagnosisView,
  DiagnosticRun,
  DiagnosticRunId,
  ProjectId,
  SandboxId,
  Task,
  TaskId,
  TicketId,
} from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, json, sql } from "./sql.ts";

const SAMPLE_RUN = "dia-000000000000" as DiagnosticRunId;
const SAMPLE_TICKET = "00000000-0000-4000-8000-000000000000" as TicketId;
const SAMPLE_TASK = "00000000-0000-4000-8000-000000000000" as TaskId;
const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;

const StandRow = z.object({
  id: TicketId,
  project_id: ProjectId,
  title: z.string(),
  is_done: z.boolean(),
  is_held: z.boolean(),
  is_autonomous: z.boolean(),
  tasks: z.number(),
  active: z.number(),
  completed: z.number(),
  failed: z.number(),
  last_ended_at: z.date().nullable(),
  runs: z.number(),
  last_run_at: z.date().nullable(),
  failed_runs: z.number(),
  recovered: z.boolean(),
});
export type StandRow = z.infer<typeof StandRow>;

/** How tickets stand of which nothing is active and something failed; one of them when it is named. Tasks that a diagnosis made
 *  are counted apart: they are no part of what failed. */
export const listStands = query(
  "diagnostics.stands",
  StandRow,
  [{ projectId: null, ticketId: null, limit: 10 }],
  (by: { readonly projectId: string | null; readonly ticketId: string | null; readonly limit: number }) => sql`
  select k.id, k.project_id, k.title, k.status = 'done' as is_done, k.is_blocked or k.approval_status <> 'approved' as is_held,
    p.autonomous_execution_enabled as is_autonomous, c.tasks, c.active, c.completed, c.failed, c.last_ended_at, r.runs, r.last_run_at,
    r.failed_runs, r.recovered
  from tickets k join projects p on p.id = k.project_id
    join lateral (select count(*)::int as tasks,
        count(*) filter (where t.status not in ('completed', 'failed', 'cancelled', 'skipped', 'blocked'))::int as active,
        count(*) filter (where t.status = 'completed')::int as completed,
        count(*) filter (where t.status = 'failed' and not exists (select 1 from diagnostic_runs d where d.task_id = t.id))::int as failed,
        max(case when t.status in ('completed', 'failed', 'cancelled', 'skipped') then t.status_changed_at end) as last_ended_at
      from tasks t where t.ticket_id = k.id) c on true
    join lateral (select count(*)::int as runs, max(d.created_at) as last_run_at,
        count(*) filter (where d.position > coalesce((select max(e.position) from diagnostic_runs e join tasks f on f.id = e.task_id
          where e.ticket_id = k.id and f.status = 'completed'), 0) and x.status in ('failed', 'cancelled', 'skipped'))::int as failed_runs,
        coalesce(bool_or(x.status = 'completed'), false) as recovered
      from diagnostic_runs d join tasks x on x.id = d.task_id where d.ticket_id = k.id) r on true
  where ${by.ticketId === null ? sql`k.status <> 'done' and c.active = 0 and c.failed > 0 and p.status = 'active'` : sql`k.id = ${by.ticketId}`}
    ${by.projectId === null ? empty : sql`and k.project_id = ${by.projectId}`}
  order by k.created_at, k.id limit ${by.limit}`,
);

export const listFailed = query(
  "diagnostics.failed",
  z.object({
    id: TaskId,
    title: z.string(),
    error: z.string(),
    tries: z.number(),
    outcomes: z.array(z.string()),
    phase_id: Task.shape.phase_id,
  }),
  [SAMPLE_TICKET, 10],
  (ticketId: TicketId, limit: number) => sql`
  select t.id, t.title, coalesce(t.error_message, t.status_reason, 'no error was told') as error, t.phase_id,
    (select count(*)::int from task_attempts a where a.task_id = t.id) as tries,
    array(select distinct a.outcome from task_attempts a where a.task_id = t.id and a.outcome is not null) as outcomes
  from tasks t where t.ticket_id = ${ticketId} and t.status = 'failed'
  order by t.status_changed_at, t.id limit ${limit}`,
);

const RunRow = z.object({
  id: DiagnosticRunId,
  position: z.number(),
  ticket_id: TicketId.nullable(),
  sandbox_id: SandboxId.nullable(),
  project_id: ProjectId,
  trigger: DiagnosticRun.shape.trigger,
  total_tasks: z.number(),
  done_tasks: z.number(),
  failed_tasks: z.number(),
  idle_seconds: z.number().nullable(),
  diagnosis: DiagnosisView,
  task_id: TaskId.nullable(),
  task_status: z.string().nullable(),
  ended_at: z.date().nullable(),
  created_at: z.date(),
});
export type RunRow = z.infer<typeof RunRow>;

export const insertRun = command(
  "diagnostics.insert",
  [
    {
      id: SAMPLE_RUN,
      ticketId: SAMPLE_TICKET,
      sandboxId: null,
      projectId: SAMPLE_PROJECT,
      trigger: "manual",
      tasks: 1,
      completed: 0,
      failed: 1,
      idleSeconds: null,
      diagnosis: {},
      taskId: SAMPLE_TASK,
    },
  ],
  (one: {
    readonly id: DiagnosticRunId;
    readonly ticketId: TicketId | null;
    readonly sandboxId: SandboxId | null;
    readonly projectId: ProjectId;
    readonly trigger: DiagnosticRun["trigger"];
    readonly tasks: number;
    readonly completed: number;
    readonly failed: number;
    readonly idleSeconds: number | null;
    readonly diagnosis: object;
    readonly taskId: TaskId | null;
  }) => sql`
  insert into diagnostic_runs (id, ticket_id, sandbox_id, project_id, trigger, total_tasks, done_tasks, failed_tasks, idle_seconds, diagnosis, task_id)
  values (${one.id}, ${one.ticketId}, ${one.sandboxId}, ${one.projectId}, ${one.trigger}, ${one.tasks}, ${one.completed}, ${one.failed},
    ${one.idleSeconds}::float8, ${json(one.diagnosis)}::jsonb, ${one.taskId})`,
);

/** One without a task is over when it is written. */
const runColumns = sql`d.id, d.position, d.ticket_id, d.sandbox_id, d.project_id, d.trigger, d.total_tasks, d.done_tasks, d.failed_tasks, d.idle_seconds,
  d.diagnosis, d.task_id, t.status as task_status,
  case when d.task_id is null then d.created_at when t.status in ('completed', 'failed', 'cancelled', 'skipped') then t.status_changed_at
    end as ended_at, d.created_at`;

export const loadRun = query(
  "diagnostics.load",
  RunRow,
  [SAMPLE_RUN],
  (id: DiagnosticRunId) => sql`
  select ${runColumns} from diagnostic_runs d left join tasks t on t.id = d.task_id where d.id = ${id}`,
);

export const listRuns = query(
  "diagnostics.list",
  RunRow,
  [{ projectId: null, ticketId: undefined, before: undefined, limit: 10 }],
  (by: {
    readonly projectId: string | null;
    readonly ticketId: TicketId | undefined;
    readonly before: number | undefined;
    readonly limit: number;
  }) => sql`
  select ${runColumns} from diagnostic_runs d left join tasks t on t.id = d.task_id where true
    ${by.projectId === null ? empty : sql`and d.project_id = ${by.projectId}`}
    ${by.ticketId === undefined ? empty : sql`and d.ticket_id = ${by.ticketId}`}
    ${by.before === undefined ? empty : sql`and d.position < ${by.before}`}
  order by d.position desc limit ${by.limit}`,
);

/** Those that are over and of which nobody was told so. */
export const claimEndedRuns = query(
  "diagnostics.claim_ended",
  z.object({ id: DiagnosticRunId }),
  [10],
  (limit: number) => sql`
  update diagnostic_runs set told_at = now() where id in (
    select d.id from diagnostic_runs d left join tasks t on t.id = d.task_id
    where d.told_at is null and (d.task_id is null or t.status in ('completed', 'failed', 'cancelled', 'skipped'))
    order by d.position limit ${limit} for update of d skip locked) returning id`,
);

/** Tickets under way whose state and tasks have not moved for so long, nothing of them running, and nobody said why. */
export const listMotionless = query(
  "diagnostics.motionless",
  z.object({ id: TicketId, errors: z.array(z.string()) }),
  [new Date(0), 10],
  (before: Date, limit: number) => sql`
  select k.id, array(select coalesce(t.error_message, t.status_reason) from tasks t where t.ticket_id = k.id and t.status = 'failed'
      and coalesce(t.error_message, t.status_reason) is not null limit 50) as errors
  from tickets k join projects p on p.id = k.project_id
  where k.status in ('analyzing', 'building') and not k.is_blocked and k.approval_status = 'approved' and p.status = 'active'
    and p.autonomous_execution_enabled and k.updated_at < ${before}
    and exists (select 1 from tasks t where t.ticket_id = k.id)
    and not exists (select 1 from tasks t where t.ticket_id = k.id and (t.status_changed_at >= ${before} or t.updated_at >= ${before}
      or t.status in ('claiming', 'assigned', 'running', 'validating')))
  order by k.created_at, k.id limit ${limit}`,
);
