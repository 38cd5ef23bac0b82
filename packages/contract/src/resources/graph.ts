/** The graph of a ticket's or a project's work, with what the schedule says about it. */
import { z } from "zod";
import { TaskId, TicketId } from "../ids.ts";
import { Timestamp } from "../time.ts";

export const GraphNode = z.object({
  id: z.string(),
  type: z.enum(["task", "ticket", "discovery"]),
  label: z.string(),
  description: z.string().nullable(),
  status: z.string(),
  phase_id: z.string().nullable(),
  priority: z.string().nullable(),
  task_type: z.string().nullable(),
  ticket_id: TicketId.nullable(),
  is_blocked: z.boolean(),
  blocks_count: z.int(),
  assigned_agent_id: z.string().nullable(),
  sandbox_id: z.string().nullable(),
  created_at: Timestamp.nullable(),
  started_at: Timestamp.nullable(),
  completed_at: Timestamp.nullable(),
  /** Seconds: how long it took or is thought to take, and when it can begin and end at the earliest. */
  duration_seconds: z.number().nullable(),
  earliest_start: z.number().nullable(),
  earliest_finish: z.number().nullable(),
  /** How long it can be late without making everything late. */
  slack_seconds: z.number().nullable(),
  is_critical: z.boolean(),
  /** Of a discovery. */
  discovery_type: z.string().optional(),
  spawned_count: z.int().optional(),
  priority_boost: z.boolean().optional(),
  discovered_at: Timestamp.optional(),
  /** Of a ticket. */
  task_count: z.int().optional(),
  blocked_by: z.array(TicketId).optional(),
});
export type GraphNode = z.infer<typeof GraphNode>;

export const GraphEdge = z.object({
  source: z.string(),
  target: z.string(),
  type: z.enum(["depends_on", "parent_child", "spawned_from", "ticket_contains", "ticket_blocks"]),
  label: z.string(),
});
export type GraphEdge = z.infer<typeof GraphEdge>;

/** Two tasks that may touch the same files: they run one after the other. */
export const Overlap = z.object({
  task_ids: z.tuple([TaskId, TaskId]),
  patterns: z.tuple([z.string(), z.string()]),
  /** A path that both patterns match. */
  example: z.string(),
});
export type Overlap = z.infer<typeof Overlap>;

export const Graph = z.object({
  nodes: z.array(GraphNode),
  edges: z.array(GraphEdge),
  metadata: z.object({
    total_tasks: z.int(),
    blocked_count: z.int(),
    resolved_count: z.int(),
    total_edges: z.int(),
    critical_path_length: z.int(),
    critical_path: z.array(TaskId),
    critical_path_seconds: z.number(),
  }),
  /** Tasks that are not over and may run into each other. */
  overlaps: z.array(Overlap),
});
export type Graph = z.infer<typeof Graph>;

/** What is planned: which tasks start together, wave by wave, and who waits for whose files. */
export const Forecast = z.object({
  ticket_id: TicketId,
  waves: z.array(z.array(TaskId)),
  overlaps: z.array(Overlap),
  remaining_seconds: z.number(),
});
export type Forecast = z.infer<typeof Forecast>;
