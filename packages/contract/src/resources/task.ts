/** A task: one piece of a ticket's work, done by one agent at a time. Each try is an attempt. */
import { z } from "zod";
import { ProjectId, SandboxId, TaskId, TicketId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Timestamp } from "../time.ts";
import { CassetteName, Provider, RuntimeName } from "./sandbox.ts";
import { PhaseId, Priority } from "./ticket.ts";

export const TaskStatus = z.enum([
  "pending",
  "blocked",
  "claiming",
  "assigned",
  "running",
  "pending_validation",
  "validating",
  "needs_revision",
  "completed",
  "failed",
  "cancelled",
  "skipped",
]);
export type TaskStatus = z.infer<typeof TaskStatus>;

/** States in which a sandbox works on the task or is about to. */
export const ACTIVE_TASK_STATES: ReadonlySet<TaskStatus> = new Set(["claiming", "assigned", "running", "validating"]);
/** States that nothing leaves by itself. */
export const ENDED_TASK_STATES: ReadonlySet<TaskStatus> = new Set(["completed", "failed", "cancelled", "skipped"]);

const TASK_DEPENDENCY_LIMIT = 1_000;

/** Paths with `*`, `?`, `**`, `[...]` and `{a,b}`, relative to the repository. */
const Glob = z.string().min(1).max(300);

export const ExecutionConfig = z.strictObject({
  require_spec_skill: z.boolean().optional(),
  selected_skill: z.string().min(1).max(200).optional(),
  /** Started although the project does not run tasks by itself. */
  force_execute: z.boolean().optional(),
  provider: Provider.optional(),
  runtime: RuntimeName.optional(),
  model: z.string().min(1).max(200).optional(),
  network: z.enum(["none", "allowlist", "open"]).optional(),
  execution_mode: z.enum(["exploration", "implementation", "validation"]).optional(),
  continuous: z.boolean().optional(),
  budget_usd: z.number().nonnegative().optional(),
  resources: z
    .strictObject({
      memory_gb: z.number().positive().max(8).optional(),
      cpu: z.number().positive().max(4).optional(),
      disk_gb: z.number().positive().max(10).optional(),
    })
    .optional(),
  /** Recorded answers that come with Drover, in place of a model. */
  cassette: CassetteName.optional(),
  /** For the `scripted` runtime: what the implementer and the validator play. */
  script: JsonObject.optional(),
  validator_script: JsonObject.optional(),
});
export type ExecutionConfig = z.infer<typeof ExecutionConfig>;

export const taskFields = {
  title: z.string().trim().min(1).max(500),
  description: z.string().max(100_000).optional(),
  task_type: z.string().min(1).max(100).default("implementation"),
  priority: Priority.default("MEDIUM"),
  phase_id: PhaseId.default("PHASE_IMPLEMENTATION"),
  owned_files: z.array(Glob).max(200).default([]),
  required_capabilities: z.array(z.string().min(1).max(100)).max(50).optional(),
  estimated_seconds: z.int().positive().max(31_536_000).optional(),
};

export const NewTask = z.strictObject({
  ticket_id: TicketId,
  ...taskFields,
  /** Made of the description, or of the type, where nobody gives one. */
  title: taskFields.title.optional(),
  dependencies: z.strictObject({ depends_on: z.array(TaskId).max(TASK_DEPENDENCY_LIMIT).default([]) }).optional(),
  parent_task_id: TaskId.optional(),
  max_retries: z.int().min(0).max(100).default(3),
  timeout_seconds: z.int().positive().max(604_800).optional(),
  deadline_at: Timestamp.optional(),
  validation_enabled: z.boolean().optional(),
  execution_config: ExecutionConfig.optional(),
});
export type NewTask = z.infer<typeof NewTask>;

export const TaskChange = z.strictObject({
  title: taskFields.title.optional(),
  description: z.string().max(100_000).nullable().optional(),
  priority: Priority.optional(),
  status: TaskStatus.optional(),
  deadline_at: Timestamp.nullable().optional(),
  estimated_seconds: z.int().positive().max(31_536_000).nullable().optional(),
  owned_files: z.array(Glob).max(200).optional(),
});
export type TaskChange = z.infer<typeof TaskChange>;

export const Task = z.object({
  id: TaskId,
  project_id: ProjectId,
  ticket_id: TicketId,
  phase_id: PhaseId,
  task_type: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  priority: z.enum(["CRITICAL", "HIGH", "MEDIUM", "LOW"]),
  status: TaskStatus,
  status_reason: z.string().nullable(),
  /** By which ready tasks are picked, at this moment. */
  score: z.number(),
  /** Whether it would be started now if there is room. */
  is_ready: z.boolean(),
  sandbox_id: SandboxId.nullable(),
  assigned_agent_id: z.string().nullable(),
  conversation_id: z.string().nullable(),
  parent_task_id: TaskId.nullable(),
  dependencies: z.object({ depends_on: z.array(TaskId) }),
  owned_files: z.array(z.string()),
  required_capabilities: z.array(z.string()),
  result: JsonObject.nullable(),
  error_message: z.string().nullable(),
  synthesis_context: JsonObject.nullable(),
  execution_config: JsonObject,
  retry_count: z.int(),
  max_retries: z.int(),
  not_before: Timestamp.nullable(),
  timeout_seconds: z.int().nullable(),
  deadline_at: Timestamp.nullable(),
  estimated_seconds: z.int().nullable(),
  validation_enabled: z.boolean(),
  validation_iteration: z.int(),
  last_validation_feedback: z.string().nullable(),
  review_done: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
  claimed_at: Timestamp.nullable(),
  assigned_at: Timestamp.nullable(),
  started_at: Timestamp.nullable(),
  completed_at: Timestamp.nullable(),
});
export type Task = z.infer<typeof Task>;

/** Who made its title: a model, or the rule. */
export const NamedTask = Task.extend({ title_origin: z.enum(["model", "rule"]) });
export type NamedTask = z.infer<typeof NamedTask>;

export const AttemptOutcome = z.enum(["completed", "failed", "lost", "cancelled", "timed_out", "passed", "rejected"]);
export type AttemptOutcome = z.infer<typeof AttemptOutcome>;

export const TaskAttempt = z.object({
  task_id: TaskId,
  number: z.int().positive(),
  kind: z.enum(["work", "validation"]),
  sandbox_id: SandboxId,
  /** Null while it is under way. */
  outcome: AttemptOutcome.nullable(),
  error_message: z.string().nullable(),
  result: JsonObject.nullable(),
  /** The sandbox whose session it goes on with. */
  resumes: SandboxId.nullable(),
  created_at: Timestamp,
  started_at: Timestamp.nullable(),
  ended_at: Timestamp.nullable(),
});
export type TaskAttempt = z.infer<typeof TaskAttempt>;

export const TaskDependencies = z.object({
  task_id: TaskId,
  depends_on: z.array(TaskId),
  dependencies_complete: z.boolean(),
});
export type TaskDependencies = z.infer<typeof TaskDependencies>;

/** What a worker says when its task is over. It is a claim: what the server can check it does check. */
export const TaskCompletion = z.strictObject({
  task_id: TaskId,
  success: z.boolean().default(true),
  result: JsonObject.nullish(),
  error_message: z.string().max(10_000).nullish(),
  evidence: z
    .strictObject({
      /** The commit that stands on the task's branch. */
      commit: z
        .string()
        .regex(/^[0-9a-f]{40,64}$/)
        .optional(),
      /** The pull request of the task's branch. */
      pr_number: z.int().positive().optional(),
      tests_passed: z.boolean().optional(),
      notes: z.string().max(10_000).optional(),
    })
    .nullish(),
});
export type TaskCompletion = z.infer<typeof TaskCompletion>;

export const ValidationVerdict = z.strictObject({
  task_id: TaskId,
  passed: z.boolean(),
  feedback: z.string().max(20_000),
  evidence: JsonObject.nullish(),
  recommendations: z.array(z.string().max(5_000)).max(100).nullish(),
});
export type ValidationVerdict = z.infer<typeof ValidationVerdict>;

export const DISCOVERY_TYPES = [
  "bug",
  "optimization",
  "clarification_needed",
  "new_component",
  "security_issue",
  "performance_issue",
  "missing_requirement",
  "integration_issue",
  "technical_debt",
  "diagnostic_stuck",
  "diagnostic_no_result",
  "diagnostic_validation_loop",
] as const;

/** Work that an agent found while it did its own: told, and made into tasks of the same ticket. */
export const NewDiscovery = z.strictObject({
  discovery_type: z.enum(DISCOVERY_TYPES),
  description: z.string().min(1).max(20_000),
  priority_boost: z.boolean().default(false),
  tasks: z
    .array(
      z.strictObject({
        ...taskFields,
        /** Positions of earlier tasks in this list. */
        after: z.array(z.int().nonnegative()).max(20).default([]),
        /** Tasks of the ticket that wait for this one too. */
        blocks: z.array(TaskId).max(20).default([]),
      }),
    )
    .max(20)
    .default([]),
});
export type NewDiscovery = z.infer<typeof NewDiscovery>;

export const Discovery = z.object({
  id: z.string(),
  source_task_id: TaskId,
  ticket_id: TicketId,
  discovery_type: z.string(),
  description: z.string(),
  spawned_task_ids: z.array(TaskId),
  priority_boost: z.boolean(),
  resolution_status: z.enum(["open", "in_progress", "resolved", "invalid"]),
  discovered_at: Timestamp,
});
export type Discovery = z.infer<typeof Discovery>;

export const MergeStrategy = z.enum(["combine", "union", "intersection"]);
export type MergeStrategy = z.infer<typeof MergeStrategy>;

export const NewJoin = z.strictObject({
  source_task_ids: z.array(TaskId).min(1).max(100),
  continuation_task_id: TaskId,
  merge_strategy: MergeStrategy.default("combine"),
});
export type NewJoin = z.infer<typeof NewJoin>;

export const Join = z.object({
  join_id: z.string(),
  source_task_ids: z.array(TaskId),
  continuation_task_id: TaskId,
  merge_strategy: MergeStrategy,
  status: z.enum(["waiting", "completed", "failed"]),
  created_at: Timestamp,
  completed_at: Timestamp.nullable(),
});
export type Join = z.infer<typeof Join>;
