/** How a task ended, the same for every executor. */
import type { StoredEvent } from "@drover/contract";

export type RunStatus = "completed" | "failed" | "timed_out" | "cancelled";

export interface RunResult {
  readonly status: RunStatus;
  readonly event_count: number;
  /** Dollars; null when something in it has no price. */
  readonly cost: number | null;
  readonly sandbox_id: string;
  /** The agent's own name for the session; null when it has none. */
  readonly conversation_id: string | null;
  /** What the agent said last, or why it failed. */
  readonly detail: string;
}

/** As the server stores it, so that whatever reads logs reads these. */
export type RunEvent = StoredEvent;

export interface ExecuteOptions {
  /** 300 seconds unless told. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: RunEvent) => void;
}

export const EXECUTE_LIMIT_MS = 300_000;

export interface Executor {
  execute(task: string, options?: ExecuteOptions): Promise<RunResult>;
}
