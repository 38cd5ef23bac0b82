/** Liveness of a sandbox's worker, derived from when it was last heard of. */
import type { Health, SandboxState } from "@drover/contract";
import { decideSilence, type WatchLimits } from "./condition.ts";

const SILENT_STATES: ReadonlySet<SandboxState> = new Set(["pending", "paused", "cancelled", "failed", "terminated"]);

/** As supervision counts silence: what is shown as dead is what it ends. */
export function decideHealth(
  state: SandboxState,
  lastContactAt: Date | null,
  now: Date,
  limits: Pick<WatchLimits, "heartbeatMs" | "deadMs">,
): Health {
  if (lastContactAt === null || SILENT_STATES.has(state)) return "unknown";
  const silence = decideSilence(now.getTime() - lastContactAt.getTime(), limits);
  return silence === undefined ? "alive" : silence === "dead" ? "dead" : "late";
}
