/** Sandboxes, their projections of the log, and their workers' tokens. */
import {
  ProjectId,
  Provider,
  ResolvedResources,
  SandboxId,
  SandboxState,
  TaskId,
  type JsonObject,
} from "@drover/contract";
import { z } from "zod";
import type { Statement } from "../ports/db.ts";
import { command, query } from "./query.ts";
import { empty, join, json, sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;
const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;

export const SandboxRow = z.object({
  id: SandboxId,
  project_id: ProjectId,
  task_id: TaskId.nullable(),
  state: SandboxState,
  state_cause: z.string().nullable(),
  generation: z.number(),
  provider: Provider,
  provider_id: z.string().nullable(),
  runtime: z.string().nullable(),
  model: z.string().nullable(),
  prompt: z.string().nullable(),
  repo: z.string().nullable(),
  base_branch: z.string().nullable(),
  branch: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  spec: z.custom<JsonObject>(),
  created_at: z.date(),
  started_at: z.date().nullable(),
  ended_at: z.date().nullable(),
  closed_at: z.date().nullable(),
  last_sandbox_seq: z.number(),
  last_seq: z.number(),
  last_event_type: z.string().nullable(),
  last_event_at: z.date().nullable(),
  turn: z.number(),
  heartbeat_count: z.number(),
  first_heartbeat_at: z.date().nullable(),
  last_heartbeat_at: z.date().nullable(),
  last_contact_at: z.date().nullable(),
  resources: ResolvedResources,
  network: z.string(),
  host: z.string().nullable(),
  provisioned_at: z.date().nullable(),
  enforced_by: z.record(z.string(), z.string()).nullable(),
  cost_usd: z.number(),
  priced_calls: z.number(),
  unpriced_calls: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
});
export type SandboxRow = z.infer<typeof SandboxRow>;

const columns = sql`id, project_id, task_id, state, state_cause, generation, provider, provider_id, runtime, model, prompt, repo,
  base_branch, branch, labels, spec, created_at, started_at, ended_at, closed_at, last_sandbox_seq, last_seq, last_event_type,
  last_event_at, turn, heartbeat_count, first_heartbeat_at, last_heartbeat_at, last_contact_at,
  resources, network, host, provisioned_at, enforced_by, cost_usd::float8 as cost_usd, priced_calls, unpriced_calls, input_tokens,
  output_tokens, cache_read_tokens, cache_write_tokens`;

export interface SandboxDraft {
  readonly id: SandboxId;
  readonly project_id: ProjectId;
  readonly task_id: string | null;
  readonly provider: string;
  readonly runtime: string | null;
  readonly model: string | null;
  readonly prompt: string | null;
  readonly repo: string | null;
  readonly base_branch: string | null;
  /** Its own branch at the project's Git host. */
  readonly branch?: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: JsonObject;
  readonly resources: ResolvedResources;
  readonly network: string;
  readonly created_by: string;
}

const SAMPLE_DRAFT: SandboxDraft = {
  id: SAMPLE_ID,
  project_id: SAMPLE_PROJECT,
  task_id: null,
  provider: "external",
  runtime: null,
  model: null,
  prompt: null,
  repo: null,
  base_branch: null,
  labels: {},
  spec: {},
  resources: {
    memory_gb: { value: 4, origin: "default" },
    cpu: { value: 2, origin: "default" },
    disk_gb: { value: 8, origin: "default" },
    image: null,
    snapshot: null,
  },
  network: "none",
  created_by: "tok-000000000000",
};

export const insertSandbox = query(
  "sandboxes.insert",
  SandboxRow,
  [SAMPLE_DRAFT],
  (draft: SandboxDraft) => sql`
  insert into sandboxes (id, project_id, task_id, state, provider, runtime, model, prompt, repo, base_branch, branch, labels, spec,
    resources, network, created_by)
  select ${draft.id}, id, ${draft.task_id}, 'pending', ${draft.provider}, ${draft.runtime}, ${draft.model}, ${draft.prompt},
    ${draft.repo}, ${draft.base_branch}, ${draft.branch ?? null}, ${json(draft.labels)}::jsonb, ${json(draft.spec)}::jsonb,
    ${json(draft.resources)}::jsonb, ${draft.network}, ${draft.created_by}
  from projects where id = ${draft.project_id}
  returning ${columns}`,
);

export const loadSandbox = query(
  "sandboxes.load",
  SandboxRow,
  [SAMPLE_ID],
  (id: SandboxId) => sql`select ${columns} from sandboxes where id = ${id}`,
  { prepared: true },
);

export const loadSandboxProject = query(
  "sandboxes.project",
  z.object({ project_id: ProjectId }),
  [SAMPLE_ID],
  (id: SandboxId) => sql`select project_id from sandboxes where id = ${id}`,
  { prepared: true },
);

/** Locks in the order of ids, so that two transactions never wait for each other. */
export const lockSandboxes = query(
  "sandboxes.lock",
  SandboxRow,
  [[SAMPLE_ID]],
  (ids: readonly SandboxId[]) =>
    sql`select ${columns} from sandboxes where id = any(${ids}::text[]) order by id limit 10000 for update`,
  { trusted: true, prepared: true },
);

/** Sandboxes of a project, or of a ticket's tasks, in which an agent is at work or about to be. */
export const listReceivers = query(
  "sandboxes.receivers",
  z.object({ id: SandboxId }),
  ["project-00000000-0000-4000-8000-000000000000" as ProjectId, null, 10],
  (projectId: ProjectId, ticketId: string | null, limit: number) => sql`
  select id from sandboxes where project_id = ${projectId} and closed_at is null
    and state in ('pending', 'creating', 'running', 'paused', 'completing')
    ${ticketId === null ? empty : sql`and task_id in (select id from tasks where ticket_id = ${ticketId})`}
  order by id limit ${limit}`,
);

export interface SandboxFilter {
  readonly projectId: string | null;
  readonly states: readonly string[] | undefined;
  readonly taskId: string | undefined;
  readonly runtime: string | undefined;
  readonly text: string | undefined;
  /** The last one of the page before. */
  readonly before: SandboxId | undefined;
  readonly limit: number;
}

const filterConditions = (filter: SandboxFilter): readonly Statement[] => [
  ...(filter.projectId === null ? [] : [sql`project_id = ${filter.projectId}`]),
  ...(filter.states === undefined ? [] : [sql`state = any(${filter.states}::text[])`]),
  ...(filter.taskId === undefined ? [] : [sql`task_id = ${filter.taskId}`]),
  ...(filter.runtime === undefined ? [] : [sql`runtime = ${filter.runtime}`]),
  ...(filter.text === undefined
    ? []
    : [sql`position(lower(${filter.text}) in lower(concat_ws(' ', id, prompt, branch, runtime, labels::text))) > 0`]),
  ...(filter.before === undefined
    ? []
    : [sql`(created_at, id) < (select created_at, id from sandboxes where id = ${filter.before})`]),
];

/** The next page starts after the cursor's row, whose time as a Date would have lost its microseconds. */
export const listSandboxes = query(
  "sandboxes.list",
  SandboxRow,
  [
    {
      projectId: null,
      states: ["running"],
      taskId: undefined,
      runtime: "claude",
      text: "a",
      before: SAMPLE_ID,
      limit: 10,
    },
  ],
  (filter: SandboxFilter) => {
    const conditions = filterConditions(filter);
    return sql`select ${columns} from sandboxes
      ${conditions.length === 0 ? empty : sql`where ${join(conditions, sql` and `)}`}
      order by created_at desc, id desc limit ${filter.limit}`;
  },
);

/** How many there are in each state, of those that the rest of the filter lets through. */
export const countSandboxes = query(
  "sandboxes.count_by_state",
  z.object({ state: SandboxState, count: z.int() }),
  [null, "claude", "a"],
  (projectId: string | null, runtime: string | undefined, text: string | undefined) => {
    const filter = { projectId, taskId: undefined, runtime, text, states: undefined, before: undefined, limit: 0 };
    const conditions = filterConditions(filter);
    return sql`select state, count(*)::int as count from sandboxes
      ${conditions.length === 0 ? empty : sql`where ${join(conditions, sql` and `)}`} group by state`;
  },
);

/** What an append changes in a sandbox's row, computed by the caller while it holds the row's lock. */
export interface SandboxProjection {
  readonly id: SandboxId;
  readonly state: SandboxState;
  readonly state_cause: string | null;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly last_sandbox_seq: number;
  /** Which of the appended rows is its last, counted from 1. */
  readonly last_row: number;
  readonly last_event_type: string | null;
  readonly last_event_at: Date | null;
  readonly turn: number;
  readonly heartbeat_count: number;
  readonly first_heartbeat_at: Date | null;
  readonly last_heartbeat_at: Date | null;
  readonly last_contact_at: Date | null;
}

export const closeSandbox = command(
  "sandboxes.close",
  [SAMPLE_ID],
  (id: SandboxId) => sql`update sandboxes set closed_at = now() where id = ${id} and closed_at is null`,
);

export const updateSandboxBudget = command(
  "sandboxes.update_budget",
  [SAMPLE_ID, 1],
  (id: SandboxId, usd: number) =>
    sql`update sandboxes set spec = jsonb_set(spec, '{budget_usd}', to_jsonb(${usd}::float8)) where id = ${id}`,
);

export const advanceGeneration = command(
  "sandboxes.advance_generation",
  [SAMPLE_ID],
  (id: SandboxId) => sql`update sandboxes set generation = generation + 1 where id = ${id}`,
);

export const insertSandboxToken = command(
  "sandbox_tokens.insert",
  [new Uint8Array(32), SAMPLE_ID, 1, "worker"],
  (hash: Uint8Array, id: SandboxId, generation: number, scope: string) =>
    sql`insert into sandbox_tokens (hash, sandbox_id, generation, scope) select ${hash}, id, ${generation}, ${scope} from sandboxes where id = ${id}`,
);

export const revokeSandboxTokens = command(
  "sandbox_tokens.revoke",
  [SAMPLE_ID],
  (id: SandboxId) => sql`update sandbox_tokens set revoked_at = now() where sandbox_id = ${id} and revoked_at is null`,
);

/** Adds to its labels; what is named again is replaced. */
export const mergeLabels = command(
  "sandboxes.merge_labels",
  [SAMPLE_ID, {}],
  (id: SandboxId, labels: Readonly<Record<string, string>>) => sql`
  update sandboxes set labels = labels || ${json(labels)}::jsonb where id = ${id}`,
);
