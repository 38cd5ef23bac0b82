/** Liveness of a sandbox's worker, derived from when it was last heard of. */
import type { Health, SandboxState } from "@drover/contract";

/** One missed beat of 30 s is late; after 120 s of silence the worker counts as dead. */
const LATE_AFTER_MS = 45_000;
const DEAD_AFTER_MS = 120_000;

const SILENT_STATES: ReadonlySet<SandboxState> = new Set(["pending", "paused", "cancelled", "failed", "terminated"]);

export function decideHealth(state: SandboxState, lastContactAt: Date | null, now: Date): Health {
  if (lastContactAt === null || SILENT_STATES.has(state)) return "unknown";
  const ageMs = now.getTime() - lastContactAt.getTime();
  if (ageMs < LATE_AFTER_MS) return "alive";
  return ageMs < DEAD_AFTER_MS ? "late" : "dead";
}
