/** Agent liveness by the age of its last heartbeat: a signal of its own, apart from state and from the browser's connection. */
export type Liveness = "none" | "fresh" | "late" | "lost";

/** A worker beats every 30 s: one missed beat is late, two are lost. */
const FRESH_MS = 45_000;
const LATE_MS = 90_000;

export function toLiveness(lastHeartbeatAt: string | null, nowMs: number): Liveness {
  if (lastHeartbeatAt === null) return "none";
  const ageMs = nowMs - Date.parse(lastHeartbeatAt);
  if (ageMs < FRESH_MS) return "fresh";
  return ageMs < LATE_MS ? "late" : "lost";
}
