/** Whether a sandbox is alive, waiting, idle, stuck, done or dead, and what follows. Derived at every look, never stored as a state. */
import { TERMINAL_SANDBOX_STATES, type SandboxState } from "@drover/contract";
import type { WatchFacts } from "./watch-facts.ts";

export interface WatchLimits {
  readonly heartbeatMs: number;
  readonly deadMs: number;
  readonly idleMs: number;
  readonly stuckMs: number;
  readonly afterCompletionMs: number;
  /** How long a nudged agent has until it is stopped. */
  readonly graceMs: number;
  /** Whether the quiet are spoken to, and ended; the dead are in any case. */
  readonly isQuietWatched: boolean;
}

export type Condition =
  | "starting"
  | "paused"
  | "ended"
  | "alive"
  /** Works on one thing for long, and says so. */
  | "busy"
  | "late"
  | "warned"
  | "dead"
  | "waiting"
  | "idle"
  | "stuck"
  | "done"
  | "finished";

export interface Watched {
  readonly state: SandboxState;
  /** When its worker was started, or the sandbox was made. */
  readonly startedMs: number;
  readonly facts: WatchFacts;
}

export interface Finding {
  readonly condition: Condition;
  /** Since when it is so, for people. */
  readonly sinceMs: number;
}

/** One beat late by less than half an interval is no news. */
const LATE_BEATS = 1.5;
const WARNED_BEATS = 2.5;
const DEAD_BEATS = 4;
const AT_WORK: ReadonlySet<string> = new Set(["running", "alive"]);

const BY_STATE: Partial<Record<SandboxState, Condition>> = {
  pending: "starting",
  creating: "starting",
  paused: "paused",
};

/** How long a worker has been silent, in a word; undefined: not long enough to speak of. */
export function decideSilence(
  silenceMs: number,
  limits: Pick<WatchLimits, "heartbeatMs" | "deadMs">,
): "dead" | "warned" | "late" | undefined {
  if (silenceMs >= Math.max(limits.deadMs, DEAD_BEATS * limits.heartbeatMs)) return "dead";
  if (silenceMs >= WARNED_BEATS * limits.heartbeatMs) return "warned";
  return silenceMs >= LATE_BEATS * limits.heartbeatMs ? "late" : undefined;
}

/** An agent whose worker is silent is judged by that alone: nothing is known of its work. One that names the tool it runs
 *  is busy, however long that takes. */
export function decideCondition({ state, startedMs, facts }: Watched, limits: WatchLimits, nowMs: number): Finding {
  if (TERMINAL_SANDBOX_STATES.has(state)) return { condition: "ended", sinceMs: nowMs };
  const byState = BY_STATE[state];
  if (byState !== undefined) return { condition: byState, sinceMs: startedMs };

  const contactMs = Math.max(startedMs, facts.contactMs ?? 0);
  const silence = decideSilence(nowMs - contactMs, limits);
  if (silence !== undefined) return { condition: silence, sinceMs: contactMs };

  if (facts.completedMs !== null) {
    const quietMs = Math.max(facts.completedMs, facts.messageMs ?? 0);
    return { condition: nowMs - quietMs >= limits.afterCompletionMs ? "finished" : "done", sinceMs: quietMs };
  }
  const [asked] = Object.values(facts.open);
  if (asked !== undefined) return { condition: "waiting", sinceMs: asked.atMs };

  const movedMs = Math.max(startedMs, facts.workMs ?? 0, facts.messageMs ?? 0);
  const isAtWork = facts.beat === null || AT_WORK.has(facts.beat.status);
  const limitMs = isAtWork ? limits.stuckMs : limits.idleMs;
  if (nowMs - movedMs < limitMs) return { condition: "alive", sinceMs: movedMs };
  if (!isAtWork) return { condition: "idle", sinceMs: movedMs };
  return { condition: (facts.beat?.tool ?? null) === null ? "stuck" : "busy", sinceMs: movedMs };
}

export type WatchAct =
  | { readonly kind: "leave" }
  | { readonly kind: "nudge" }
  | { readonly kind: "end"; readonly on: "failed" | "terminated"; readonly cause: string };

const CAUSES: Partial<Record<Condition, string>> = { idle: "idle_timeout", stuck: "stuck_running" };

/** Nobody is stopped unwarned: an idle or stuck agent is spoken to first, and left alone if it moves. A completed one ends as
 *  what it is; only silence fails. */
export function decideWatch(
  { condition, sinceMs }: Finding,
  nudgedMs: number | null,
  limits: WatchLimits,
  nowMs: number,
): WatchAct {
  if (condition === "dead") return { kind: "end", on: "failed", cause: "heartbeat_timeout" };
  if (condition === "finished") return { kind: "end", on: "terminated", cause: "kept long enough" };
  const cause = limits.isQuietWatched ? CAUSES[condition] : undefined;
  if (cause === undefined) return { kind: "leave" };
  // A nudge that lies before this spell began was for an earlier one.
  if (nudgedMs === null || nudgedMs < sinceMs) return { kind: "nudge" };
  return nowMs - nudgedMs >= limits.graceMs ? { kind: "end", on: "failed", cause } : { kind: "leave" };
}
