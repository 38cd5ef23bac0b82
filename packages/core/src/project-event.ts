/** What the log means for a sandbox's row: state, counters and times, folded event by event. */
import type { SandboxState } from "@drover/contract";
import { isHeartbeat } from "./event-traits.ts";

export interface SandboxFacts {
  readonly state: SandboxState;
  readonly state_cause: string | null;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly last_sandbox_seq: number;
  readonly last_event_type: string | null;
  readonly last_event_at: Date | null;
  readonly turn: number;
  readonly heartbeat_count: number;
  readonly first_heartbeat_at: Date | null;
  readonly last_heartbeat_at: Date | null;
  /** When the worker was last heard of, by whatever event. */
  readonly last_contact_at: Date | null;
}

export interface ObservedEvent {
  readonly eventType: string;
  readonly turn: number | null;
  readonly at: Date;
  readonly isFromWorker: boolean;
}

/** Any event of a worker shows that it lives; heartbeats are counted too, because the trajectory folds them. */
export function foldFacts(facts: SandboxFacts, event: ObservedEvent): SandboxFacts {
  const isBeat = isHeartbeat(event.eventType);
  // Field by field: a row has three times as many, and every event would copy them all.
  return {
    state: facts.state,
    state_cause: facts.state_cause,
    started_at: facts.started_at,
    ended_at: facts.ended_at,
    last_sandbox_seq: facts.last_sandbox_seq + 1,
    turn: Math.max(facts.turn, event.turn ?? 0),
    last_event_type: isBeat ? facts.last_event_type : event.eventType,
    last_event_at: isBeat ? facts.last_event_at : event.at,
    heartbeat_count: facts.heartbeat_count + (isBeat ? 1 : 0),
    first_heartbeat_at: isBeat ? (facts.first_heartbeat_at ?? event.at) : facts.first_heartbeat_at,
    last_heartbeat_at: isBeat ? event.at : facts.last_heartbeat_at,
    last_contact_at: event.isFromWorker ? event.at : facts.last_contact_at,
  };
}

const ENDED: ReadonlySet<SandboxState> = new Set(["completed", "cancelled", "failed", "terminated"]);

export function foldState(facts: SandboxFacts, to: SandboxState, cause: string, at: Date): SandboxFacts {
  return {
    ...facts,
    state: to,
    state_cause: cause,
    started_at: to === "running" ? (facts.started_at ?? at) : facts.started_at,
    ended_at: ENDED.has(to) ? (ENDED.has(facts.state) ? facts.ended_at : at) : null,
    // Nobody could speak while it was paused: that silence is not held against the worker.
    last_contact_at: facts.state === "paused" && to === "running" ? at : facts.last_contact_at,
  };
}
