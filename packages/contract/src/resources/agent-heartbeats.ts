/** How an agent's workers beat over the last hours, in steps that a strip can show. */
import { z } from "zod";
import { ProjectId } from "../ids.ts";
import { Timestamp } from "../time.ts";
import { RuntimeName } from "./sandbox.ts";

export const HEARTBEAT_STEP_SECONDS = 900;

export const AgentHeartbeatsQuery = z.strictObject({
  /** The runtime, as in `agent_type` of an agent; `external` also means workers that named none. */
  agent_type: RuntimeName,
  hours: z.coerce.number().int().min(1).max(72).default(24),
  project_id: ProjectId.optional(),
});
export type AgentHeartbeatsQuery = z.infer<typeof AgentHeartbeatsQuery>;

const count = z.int().nonnegative();

export const HeartbeatStep = z.object({
  /** When it begins. */
  at: Timestamp,
  heartbeats: count,
  /** Sandboxes of which a heartbeat came. */
  heard: count,
  /** Sandboxes that ran long enough to be heard of, and were not. */
  silent: count,
  /** Times that supervision noted a silence, or that it went on. */
  missed: count,
  restarts: count,
  /** Runs that ended as failed. */
  failures: count,
  anomalies: count,
});
export type HeartbeatStep = z.infer<typeof HeartbeatStep>;

export const AgentHeartbeats = z.object({
  agent_type: z.string(),
  from: Timestamp,
  /** The end of the step that is under way. */
  to: Timestamp,
  step_seconds: z.int().positive(),
  /** How many sandboxes it is about: those that stand, and those that were closed since; the newest 1,000. */
  sandboxes: count,
  /** Oldest first, without a hole. */
  steps: z.array(HeartbeatStep),
});
export type AgentHeartbeats = z.infer<typeof AgentHeartbeats>;
