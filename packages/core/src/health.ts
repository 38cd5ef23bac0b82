/** Liveness of a sandbox's worker, derived from when it was last heard of and from whether it does anything. */
import type { Health, SandboxState } from "@drover/contract";
import { decideSilence, type WatchLimits } from "./condition.ts";

const SILENT_STATES: ReadonlySet<SandboxState> = new Set(["pending", "paused", "cancelled", "failed", "terminated"]);

/** As supervision counts silence: what is shown as dead is what it ends. `quiet`: what it found of one that beats and does nothing. */
export function decideHealth(
  state: SandboxState,
  lastContactAt: Date | null,
  now: Date,
  limits: Pick<WatchLimits, "heartbeatMs" | "deadMs">,
  quiet?: "idle" | "stuck",
): Health {
  if (lastContactAt === null || SILENT_STATES.has(state)) return "unknown";
  const silence = decideSilence(now.getTime() - lastContactAt.getTime(), limits);
  if (silence === undefined) return quiet ?? "alive";
  return silence === "dead" ? "dead" : "late";
}
