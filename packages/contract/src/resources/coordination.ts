/** How tasks are tied together beyond their dependencies, and what stands in a ticket's way. */
import { z } from "zod";
import { SandboxId, TaskId, TicketId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Timestamp } from "../time.ts";
import { ExecutionConfig, Task, taskFields } from "./task.ts";
import { PhaseId } from "./ticket.ts";

/** What keeps a ticket from going on: its own flag, a person, its project, other tickets, or its tasks. */
export const TicketBlocking = z.object({
  ticket_id: TicketId,
  is_blocked: z.boolean(),
  reasons: z.array(
    z.object({
      kind: z.enum(["flag", "approval", "project", "ticket", "task"]),
      /** The ticket or the task that is in the way. */
      id: z.string().nullable(),
      detail: z.string(),
    }),
  ),
});
export type TicketBlocking = z.infer<typeof TicketBlocking>;

export const PhaseCompletion = z.object({
  ticket_id: TicketId,
  phase_id: PhaseId,
  /** It has tasks, and all that were not called off are completed. */
  is_complete: z.boolean(),
  total_tasks: z.int(),
  completed_tasks: z.int(),
  open_task_ids: z.array(TaskId),
  next_phase_id: PhaseId.nullable(),
});
export type PhaseCompletion = z.infer<typeof PhaseCompletion>;

export const NewSplit = z.strictObject({
  /** They run beside each other, after the task that is split. */
  tasks: z
    .array(z.strictObject({ ...taskFields, execution_config: ExecutionConfig.optional() }))
    .min(1)
    .max(50),
  /** Waits for all of them. */
  continuation_task_id: TaskId.optional(),
});
export type NewSplit = z.infer<typeof NewSplit>;

export const Split = z.object({ source_task_id: TaskId, tasks: z.array(Task) });
export type Split = z.infer<typeof Split>;

/** A point that is reached when so many of the tasks are completed; told once, by an event. */
export const NewSync = z.strictObject({
  task_ids: z.array(TaskId).min(1).max(1_000),
  /** All of them without it. */
  required_count: z.int().positive().max(1_000).optional(),
  timeout_seconds: z.int().positive().max(2_592_000).optional(),
});
export type NewSync = z.infer<typeof NewSync>;

export const Sync = z.object({
  sync_id: z.string(),
  task_ids: z.array(TaskId),
  required_count: z.int(),
  completed_count: z.int(),
  status: z.enum(["waiting", "reached", "timed_out"]),
  deadline_at: Timestamp.nullable(),
  created_at: Timestamp,
  ended_at: Timestamp.nullable(),
});
export type Sync = z.infer<typeof Sync>;

/** An agent is what works in a sandbox, and is named like it: there is no second register that could say something else. */
export const AgentStatus = z.enum(["SPAWNING", "RUNNING", "IDLE", "DEGRADED", "FAILED", "TERMINATED"]);
export type AgentStatus = z.infer<typeof AgentStatus>;

export const Agent = z.object({
  agent_id: SandboxId,
  agent_name: z.string(),
  /** The runtime that it is. */
  agent_type: z.string().nullable(),
  status: AgentStatus,
  health_status: z.string(),
  project_id: z.string(),
  task_id: TaskId.nullable(),
  capabilities: z.array(z.string()),
  /** Whether it may be given more. */
  available: z.boolean(),
  last_heartbeat: Timestamp.nullable(),
  created_at: Timestamp,
});
export type Agent = z.infer<typeof Agent>;

/** An agent, and the share of what was asked for that it can do. */
export const AgentMatch = Agent.extend({ match_score: z.number().min(0).max(1) });
export type AgentMatch = z.infer<typeof AgentMatch>;

export const AgentHealth = z.object({
  agent_id: SandboxId,
  status: AgentStatus,
  health_status: z.string(),
  last_heartbeat: Timestamp.nullable(),
  seconds_since_heartbeat: z.number().nullable(),
});
export type AgentHealth = z.infer<typeof AgentHealth>;

/** A heartbeat as older agents send it. */
export const AgentBeat = z.strictObject({
  agent_id: SandboxId,
  timestamp: z.string().max(100).optional(),
  sequence_number: z.int().nonnegative().default(0),
  status: z.string().min(1).max(50).default("alive"),
  current_task_id: z.string().max(100).nullish(),
  health_metrics: JsonObject.nullish(),
  checksum: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
});
export type AgentBeat = z.infer<typeof AgentBeat>;
