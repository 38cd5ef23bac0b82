/** Permission requests of agents and their answers. */
import {
  Permission,
  PermissionOption,
  PermissionState,
  SandboxId,
  type JsonObject,
  type PermissionAnswer,
  type PermissionAnswered,
  type PermissionRequested,
} from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, json, sql } from "./sql.ts";

const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;

export const PermissionRow = z.object({
  sandbox_id: SandboxId,
  request_id: z.string(),
  position: z.number(),
  kind: Permission.shape.kind,
  turn: z.number(),
  tool_use_id: z.string().nullable(),
  tool: z.string(),
  input: z.custom<JsonObject>(),
  options: z.array(PermissionOption),
  state: PermissionState,
  decision: Permission.shape.decision,
  option_id: z.string().nullable(),
  answer: z.string().nullable(),
  note: z.string().nullable(),
  decided_by: Permission.shape.by,
  requested_at: z.date(),
  deadline_at: z.date().nullable(),
  answered_at: z.date().nullable(),
});
export type PermissionRow = z.infer<typeof PermissionRow>;

/** The worker that asked is gone: nobody waits for the answer any more. */
const state = sql`case when p.state = 'open' and p.generation < s.generation then 'closed' else p.state end`;

const columns = sql`p.sandbox_id, p.request_id, p.position, p.kind, p.turn, p.tool_use_id, p.tool, p.input, p.options, ${state} as state,
  p.decision, p.option_id, p.answer, p.note, p.decided_by, p.requested_at, p.deadline_at, p.answered_at`;

const SAMPLE_REQUEST: PermissionRequested = {
  turn: 1,
  request_id: "a",
  kind: "tool",
  tool: "Bash",
  input: {},
  options: [],
};

/** Asked again by a later worker, a request that nobody answered is open again; else the first word stays. */
export const insertPermission = command(
  "permissions.insert",
  [SAMPLE_SANDBOX, 1, SAMPLE_REQUEST],
  (sandboxId: SandboxId, generation: number, asked: PermissionRequested) => sql`
  insert into permission_requests (sandbox_id, request_id, generation, kind, turn, tool_use_id, tool, input, options, state, deadline_at)
  select id, ${asked.request_id}, ${generation}, ${asked.kind}, ${asked.turn}, ${asked.tool_use_id ?? null}, ${asked.tool},
    ${json(asked.input)}::jsonb, ${json(asked.options)}::jsonb, 'open', ${asked.deadline_at ?? null}::timestamptz
  from sandboxes where id = ${sandboxId}
  on conflict (sandbox_id, request_id) do update set generation = excluded.generation, deadline_at = excluded.deadline_at
    where permission_requests.state = 'open' and permission_requests.generation < excluded.generation`,
);

/** What the worker did is the truth, also where a person's answer came too late. */
export const settlePermission = command(
  "permissions.settle",
  [SAMPLE_SANDBOX, { request_id: "a", decision: "allow", by: "person" }],
  (sandboxId: SandboxId, told: PermissionAnswered) => sql`
  update permission_requests set state = 'answered', decision = ${told.decision}, option_id = ${told.option_id ?? null},
    answer = ${told.text ?? null}, note = ${told.note ?? null}, decided_by = ${told.by}, answered_at = coalesce(answered_at, now())
  where sandbox_id = ${sandboxId} and request_id = ${told.request_id}`,
);

export const answerPermission = command(
  "permissions.answer",
  [SAMPLE_SANDBOX, "a", { decision: "allow" }, "tok-000000000000"],
  (sandboxId: SandboxId, requestId: string, answer: PermissionAnswer, answerer: string) => sql`
  update permission_requests set state = 'answered', decision = ${answer.decision}, option_id = ${answer.option_id ?? null},
    answer = ${answer.text ?? null}, note = ${answer.note ?? null}, decided_by = 'person', answerer = ${answerer}, answered_at = now()
  where sandbox_id = ${sandboxId} and request_id = ${requestId}`,
);

export const closePermissions = command(
  "permissions.close",
  [SAMPLE_SANDBOX],
  (sandboxId: SandboxId) =>
    sql`update permission_requests set state = 'closed' where sandbox_id = ${sandboxId} and state = 'open'`,
);

export const loadPermission = query(
  "permissions.load",
  PermissionRow,
  [SAMPLE_SANDBOX, "a"],
  (sandboxId: SandboxId, requestId: string) => sql`
  select ${columns} from permission_requests p join sandboxes s on s.id = p.sandbox_id
  where p.sandbox_id = ${sandboxId} and p.request_id = ${requestId}`,
);

export const listPermissions = query(
  "permissions.list",
  PermissionRow,
  [SAMPLE_SANDBOX, "open", 1, 10],
  (sandboxId: SandboxId, wanted: PermissionState | undefined, after: number | undefined, limit: number) => sql`
  select ${columns} from permission_requests p join sandboxes s on s.id = p.sandbox_id
  where p.sandbox_id = ${sandboxId} ${wanted === undefined ? empty : sql`and ${state} = ${wanted}`}
    ${after === undefined ? empty : sql`and p.position > ${after}`}
  order by p.position limit ${limit}`,
);
