/** What supervision sees of a run and does about it. */
import { z } from "zod";
import { MessageId, ProjectId, SandboxId } from "../ids.ts";
import { Timestamp } from "../time.ts";

export const InterventionId = z
  .string()
  .regex(/^int-[0-9a-f]{12}$/)
  .brand<"InterventionId">();
export type InterventionId = z.infer<typeof InterventionId>;

/** A sign of trouble with the events that make it. */
export const SignalView = z.object({
  signal: z.string(),
  level: z.enum(["note", "warning", "critical"]),
  seqs: z.array(z.int().positive()),
  detail: z.string(),
});

export const Intervention = z.object({
  id: InterventionId,
  sandbox_id: SandboxId,
  project_id: ProjectId,
  signal: z.string(),
  level: SignalView.shape.level,
  /** How far the guardian went. */
  rung: z.enum(["note", "nudge", "ask", "pause", "stop"]),
  /** What the guardian was allowed to do: `shadow` only notes, `nudge` speaks and asks, `full` may pause and stop. */
  mode: z.enum(["shadow", "nudge", "full"]),
  reason: z.string(),
  seqs: SignalView.shape.seqs,
  message_id: MessageId.nullable(),
  /** The event by which the agent was given the message; null until then. */
  injected_seq: z.int().positive().nullable(),
  outcome: z.enum(["pending", "helped", "no_effect", "harmful"]),
  created_at: Timestamp,
  settled_at: Timestamp.nullable(),
});
export type Intervention = z.infer<typeof Intervention>;

export const Supervision = z.object({
  sandbox_id: SandboxId,
  /** Whether it is alive, busy, waiting, idle, stuck, done or dead; null until somebody has looked. */
  condition: z.string().nullable(),
  condition_since: Timestamp.nullable(),
  signals: z.array(SignalView),
  /** Up to which event this was seen. */
  cursor_seq: z.int().nonnegative(),
});
export type Supervision = z.infer<typeof Supervision>;
