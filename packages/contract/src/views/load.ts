/** What a sandbox used when its worker last said so. */
import type { LogEvent } from "./log-event.ts";
import { readNumber } from "./log-event.ts";

export interface Load {
  readonly memoryBytes: number;
  /** Of one core; null at a worker's first beat, which knows no span. */
  readonly cpuPercent: number | null;
  readonly at: string;
}

/** Undefined of any event but a heartbeat, and of a worker that cannot look. */
export function toLoad({
  event_type,
  event_data,
  created_at,
}: Pick<LogEvent, "event_type" | "event_data" | "created_at">): Load | undefined {
  const memoryBytes = event_type === "agent.heartbeat" ? readNumber(event_data, "memory_bytes") : null;
  if (memoryBytes === null) return undefined;
  return { memoryBytes, cpuPercent: readNumber(event_data, "cpu_percent"), at: created_at };
}
