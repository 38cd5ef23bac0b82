/** (sandbox, event) -> sandbox: keeps a listed sandbox true between two readings of the list. */
import { SandboxState, type Health, type Sandbox } from "../resources/sandbox.ts";
import type { LogEvent } from "./log-event.ts";
import { readNumber, readText } from "./log-event.ts";

const HEARTBEATS: ReadonlySet<string> = new Set(["agent.heartbeat", "spec.heartbeat", "heartbeat"]);
const ENDED: ReadonlySet<SandboxState> = new Set(["completed", "cancelled", "failed", "terminated"]);

/** A beat says that a worker is there, and not that it moves. */
function toHealth(health: Health, eventType: string, isHeartbeat: boolean): Health {
  const isQuiet = health === "idle" || health === "stuck";
  const isSign = isHeartbeat ? !isQuiet : isQuiet && eventType.startsWith("agent.");
  return isSign ? "alive" : health;
}

/** Global `seq` is asked for beside the event: an event older than what the sandbox already counts changes nothing. */
export function foldSandbox(sandbox: Sandbox, event: LogEvent & { readonly seq: number }): Sandbox {
  if (event.seq <= sandbox.last_seq) return sandbox;
  const data = event.event_data;
  const isHeartbeat = HEARTBEATS.has(event.event_type);
  const named =
    event.event_type === "STATE_CHANGED" ? SandboxState.safeParse(readText(data, "to", "state")) : undefined;
  const state = named?.success === true ? named.data : sandbox.state;
  return {
    ...sandbox,
    state,
    state_cause:
      named?.success === true ? (readText(data, "cause", "state_cause", "reason") ?? null) : sandbox.state_cause,
    generation: Math.max(
      sandbox.generation,
      event.event_type === "WORKER_REPLACED" ? (readNumber(data, "generation") ?? 0) : 0,
    ),
    turn: Math.max(sandbox.turn, readNumber(data, "turn") ?? 0),
    event_count: Math.max(sandbox.event_count, event.sandbox_seq),
    last_seq: event.seq,
    last_event_type: event.event_type,
    last_event_at: event.created_at,
    last_heartbeat_at: isHeartbeat ? event.created_at : sandbox.last_heartbeat_at,
    health: toHealth(sandbox.health, event.event_type, isHeartbeat),
    started_at: sandbox.started_at ?? (state === "running" ? event.created_at : null),
    ended_at: ENDED.has(state) ? (sandbox.ended_at ?? event.created_at) : null,
  };
}
