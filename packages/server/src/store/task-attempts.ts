/** Every try at a task: its own sandbox, times and outcome. */
import { AttemptOutcome, SandboxId, SandboxState, TaskId, TaskStatus, type JsonObject } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { json, sql } from "./sql.ts";
import { SAMPLE_TASK } from "./tasks.ts";

const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;

export const AttemptRow = z.object({
  task_id: TaskId,
  number: z.number(),
  kind: z.enum(["work", "validation"]),
  sandbox_id: SandboxId,
  outcome: AttemptOutcome.nullable(),
  error_message: z.string().nullable(),
  result: z.custom<JsonObject | null>(),
  resumes: SandboxId.nullable(),
  created_at: z.date(),
  started_at: z.date().nullable(),
  ended_at: z.date().nullable(),
});
export type AttemptRow = z.infer<typeof AttemptRow>;

const columns = sql`task_id, number, kind, sandbox_id, outcome, error_message, result, resumes, created_at, started_at, ended_at`;

export const insertAttempt = query(
  "task_attempts.insert",
  AttemptRow,
  [SAMPLE_TASK, "work", SAMPLE_SANDBOX, null],
  (taskId: TaskId, kind: "work" | "validation", sandboxId: SandboxId, resumes: SandboxId | null) => sql`
  insert into task_attempts (task_id, number, kind, sandbox_id, resumes)
  select ${taskId}, coalesce(max(number), 0) + 1, ${kind}, ${sandboxId}, ${resumes} from task_attempts where task_id = ${taskId}
  returning ${columns}`,
);

export const listAttempts = query(
  "task_attempts.list",
  AttemptRow,
  [SAMPLE_TASK],
  (taskId: string) => sql`select ${columns} from task_attempts where task_id = ${taskId} order by number limit 1000`,
);

export const loadOpenAttempt = query(
  "task_attempts.open",
  AttemptRow,
  [SAMPLE_TASK],
  (taskId: string) => sql`select ${columns} from task_attempts where task_id = ${taskId} and ended_at is null`,
);

export const loadAttemptOfSandbox = query(
  "task_attempts.of_sandbox",
  AttemptRow,
  [SAMPLE_SANDBOX],
  (sandboxId: SandboxId) => sql`select ${columns} from task_attempts where sandbox_id = ${sandboxId}`,
);

export const markAttemptStarted = command(
  "task_attempts.start",
  [SAMPLE_SANDBOX, new Date(0)],
  (sandboxId: SandboxId, at: Date) =>
    sql`update task_attempts set started_at = ${at} where sandbox_id = ${sandboxId} and started_at is null`,
);

export interface AttemptEnd {
  readonly outcome: AttemptOutcome;
  readonly error: string | null;
  readonly result: JsonObject | null;
  readonly at: Date;
}

export const endAttempt = command(
  "task_attempts.end",
  [SAMPLE_SANDBOX, { outcome: "failed", error: null, result: null, at: new Date(0) }],
  (sandboxId: SandboxId, end: AttemptEnd) => sql`
  update task_attempts set outcome = ${end.outcome}, error_message = ${end.error},
    result = ${end.result === null ? null : json(end.result)}::jsonb, ended_at = ${end.at}
  where sandbox_id = ${sandboxId} and ended_at is null`,
);

/** The word by which an agent says that it is done; it counts also when the sandbox works on something else by now. */
const saidDone = sql`exists (select 1 from events e where e.sandbox_id = s.id and e.event_type = 'agent.completed')`;

export const loadSaidDone = query(
  "task_attempts.said_done",
  z.object({ is_done: z.boolean() }),
  [SAMPLE_SANDBOX],
  (sandboxId: SandboxId) => sql`select ${saidDone} as is_done from sandboxes s where s.id = ${sandboxId}`,
);

/** Tries under way whose sandbox has come further than their task knows. */
export const listMoved = query(
  "task_attempts.moved",
  z.object({ task_id: TaskId, sandbox_id: SandboxId, status: TaskStatus, state: SandboxState }),
  [10],
  (limit: number) => sql`
  select a.task_id, a.sandbox_id, t.status, s.state
  from task_attempts a join tasks t on t.id = a.task_id join sandboxes s on s.id = a.sandbox_id
  where a.ended_at is null and (t.status = 'assigned' and s.state not in ('pending', 'creating')
    or s.state in ('completed', 'failed', 'cancelled', 'terminated') or ${saidDone})
  order by a.created_at limit ${limit}`,
);

/** How long tries of each kind of task took lately, in the middle. */
export const loadTypicalSeconds = query(
  "task_attempts.typical_seconds",
  z.object({ task_type: z.string(), seconds: z.number() }),
  [],
  () => sql`
  select t.task_type, percentile_cont(0.5) within group (order by extract(epoch from a.ended_at - a.started_at)::float8) as seconds
  from (select task_id, started_at, ended_at from task_attempts
    where outcome = 'completed' and started_at is not null order by ended_at desc limit 500) a join tasks t on t.id = a.task_id
  group by t.task_type limit 200`,
);
