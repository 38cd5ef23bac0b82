/** A sandbox: one isolated environment, made by a provider for one task or one prompt. */
import { z } from "zod";
import { ProjectId, SandboxId, TaskId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Timestamp } from "../time.ts";
import { AgentOptions } from "./agent-options.ts";
import { ContinuousOptions } from "./continuous.ts";
import { PullRequest } from "./pull-request.ts";
import { AssignedResume } from "./resume.ts";

export const SandboxState = z.enum([
  "pending",
  "creating",
  "running",
  "paused",
  "completing",
  "completed",
  "cancelled",
  "failed",
  "terminated",
]);
export type SandboxState = z.infer<typeof SandboxState>;

export const TERMINAL_SANDBOX_STATES: ReadonlySet<SandboxState> = new Set(["cancelled", "failed", "terminated"]);

/** Derived at every look: how long ago its worker was heard, and whether one that is heard does nothing (`idle`, `stuck`). */
export const Health = z.enum(["unknown", "alive", "idle", "stuck", "late", "dead"]);
export type Health = z.infer<typeof Health>;

export const Provider = z.enum(["external", "local", "docker", "daytona", "kubernetes", "remote"]);
export type Provider = z.infer<typeof Provider>;

export const RuntimeName = z.string().regex(/^[a-z][a-z0-9-]{0,63}$/);
/** A recording of model answers, of those that come with Drover. */
export const CassetteName = z.string().regex(/^[a-z0-9-]{1,100}$/);

const Labels = z.record(z.string().min(1).max(63), z.string().max(255));

export const Resources = z.strictObject({
  memory_gb: z.number().positive().max(8).optional(),
  cpu: z.number().positive().max(4).optional(),
  disk_gb: z.number().positive().max(10).optional(),
});

export const EnvName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/);

export const NewSandbox = z.strictObject({
  ...AgentOptions.shape,
  project_id: ProjectId.optional(),
  task_id: TaskId.optional(),
  prompt: z.string().min(1).max(100_000).optional(),
  provider: Provider.optional(),
  runtime: RuntimeName.optional(),
  model: z.string().min(1).max(200).optional(),
  repo: z.string().min(1).max(1_000).optional(),
  base_branch: z.string().min(1).max(250).optional(),
  resources: Resources.optional(),
  image: z.string().min(1).max(300).optional(),
  snapshot: z.string().min(1).max(300).optional(),
  env: z.record(EnvName, z.string().max(32_768)).optional(),
  labels: Labels.optional(),
  network: z.enum(["none", "allowlist", "open"]).optional(),
  execution_mode: z.enum(["exploration", "implementation", "validation"]).optional(),
  /** Work in iterations until evidence says that it is done. */
  continuous: z.union([z.boolean(), ContinuousOptions]).optional(),
  budget_usd: z.number().nonnegative().optional(),
  /** It is stopped when it has run for so long. */
  timeout_s: z.int().positive().optional(),
  /** Another sandbox, whose files and memory this one goes on with; what is not given here is as it was there. */
  resume_from: z.string().min(1).max(200).optional(),
  /** Also when nothing of its memory is left. */
  resume_fresh: z.boolean().optional(),
  /** For the `scripted` runtime: the steps it plays. */
  script: JsonObject.optional(),
});
export type NewSandbox = z.infer<typeof NewSandbox>;

/** A resource and where its value came from: the request, a setting, or the default. */
const ResolvedResource = z.object({ value: z.number(), origin: z.string() });
const ResolvedName = z.object({ value: z.string(), origin: z.string() });
export const ResolvedResources = z.object({
  memory_gb: ResolvedResource,
  cpu: ResolvedResource,
  disk_gb: ResolvedResource,
  /** What it is made from; null where the provider uses none. */
  image: ResolvedName.nullable().default(null),
  snapshot: ResolvedName.nullable().default(null),
});
export type ResolvedResources = z.infer<typeof ResolvedResources>;

export const Sandbox = z.object({
  id: SandboxId,
  project_id: ProjectId,
  task_id: TaskId.nullable(),
  state: SandboxState,
  state_cause: z.string().nullable(),
  generation: z.int().positive(),
  provider: Provider,
  provider_id: z.string().nullable(),
  runtime: z.string().nullable(),
  model: z.string().nullable(),
  prompt: z.string().nullable(),
  repo: z.string().nullable(),
  base_branch: z.string().nullable(),
  branch: z.string().nullable(),
  labels: Labels,
  network: z.string(),
  resources: ResolvedResources.nullable(),
  /** What enforces each limit really; null while it is not known. */
  enforced_by: z.record(z.string(), z.string()).nullable(),
  health: Health,
  /** Null when models were used and nobody knows the price of any. */
  cost_usd: z.number().nonnegative().nullable().default(0),
  /** Model calls without a price: they are in the tokens and not in the cost. */
  unpriced_calls: z.int().nonnegative().default(0),
  tokens: z
    .object({
      input: z.int().nonnegative(),
      output: z.int().nonnegative(),
      cache_read: z.int().nonnegative(),
      cache_write: z.int().nonnegative(),
      total: z.int().nonnegative(),
    })
    .default({ input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0 }),
  budget_usd: z.number().nonnegative().nullable().default(null),
  turn: z.int().nonnegative(),
  event_count: z.int().nonnegative(),
  last_seq: z.int().nonnegative(),
  last_event_type: z.string().nullable(),
  last_event_at: Timestamp.nullable(),
  last_heartbeat_at: Timestamp.nullable(),
  created_at: Timestamp,
  started_at: Timestamp.nullable(),
  ended_at: Timestamp.nullable(),
  /** Of its branch; null while there is none. Only told where one sandbox is asked for. */
  pull_request: PullRequest.pick({ id: true, number: true, url: true, state: true }).nullable().optional(),
});
export type Sandbox = z.infer<typeof Sandbox>;

/** What a worker started by hand needs; the token is told once. */
export const WorkerEnv = z.object({ SANDBOX_ID: z.string(), CALLBACK_URL: z.string(), SANDBOX_TOKEN: z.string() });

export const CreatedSandbox = Sandbox.extend({
  worker_token: z.string().optional(),
  worker_env: WorkerEnv.optional(),
});
export type CreatedSandbox = z.infer<typeof CreatedSandbox>;

/** What the worker is to do; fetched by it with its token. */
export const Assignment = z.looseObject({
  sandbox_id: SandboxId,
  generation: z.int().positive(),
  task_id: TaskId.nullable(),
  ticket_title: z.string().nullable().default(null),
  prompt: z.string().nullable(),
  runtime: z.string(),
  model: z.string().nullable(),
  branch: z.string().nullable(),
  /** The project's repository below the server's address; null when the workspace is not from there. */
  git_path: z.string().nullable().default(null),
  script: JsonObject.nullable(),
  /** What the sandbox was asked for; a worker that knows none of it does as the agent does by itself. */
  agent: AgentOptions.default({}),
  continuous: z.boolean().default(false),
  continuous_options: ContinuousOptions.nullable().default(null),
  budget_usd: z.number().nonnegative().nullable().default(null),
  /** What its models have cost by the gateway's meter; null while nothing with a price was metered. */
  spent_usd: z.number().nonnegative().nullable().default(null),
  timeout_s: z.int().positive().nullable().default(null),
  resume: AssignedResume.nullable().default(null),
  heartbeat_interval_s: z.number().positive(),
  post_completion_s: z.number().positive(),
});
export type Assignment = z.infer<typeof Assignment>;

export const Heartbeat = z.strictObject({
  status: z.string().min(1).max(50).default("alive"),
  detail: JsonObject.optional(),
});
