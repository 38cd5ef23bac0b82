/** What the worker drives: an agent that works on an order, says what it does, and can be spoken to. */
import type { InboxMessage, Json, JsonObject } from "@drover/contract";
import type { Clock } from "./clock.ts";

export interface AgentCapabilities {
  /** When a message reaches the agent: between two steps of the running turn, or only when the turn is over. */
  readonly steering: "step" | "turn";
  readonly interrupt: boolean;
  /** What a restarted agent still knows: everything, a summary it is told, or nothing. */
  readonly resume: "native" | "reseeded" | "fresh";
}

export interface WorkOrder {
  readonly prompt: string;
  readonly model: string | null;
  readonly script: JsonObject | null;
  readonly cwd: string;
  /** For the agent's own processes; holds no credential of the worker. */
  readonly env: Readonly<Record<string, string>>;
  /** The last mark that was recorded: where to go on. */
  readonly mark: Json | undefined;
  readonly postCompletionSeconds: number;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Keeps bytes too large for an event; resolves to their id. */
  readonly keepArtifact: (bytes: Buffer) => Promise<string>;
}

export interface AgentEvent {
  readonly event_type: string;
  readonly event_data: Readonly<Record<string, unknown>>;
}

/** How far a message came: `seen` when it stands in what the agent was given. */
export interface Receipt {
  readonly messageId: string;
  readonly status: "seen" | "failed";
  readonly turn: number;
  readonly detail?: string;
}

/** Recorded as one: all of it is on disk or none. */
export interface AgentStep {
  readonly events: readonly AgentEvent[];
  readonly mark?: Json;
  readonly receipt?: Receipt;
  /** The next step is asked for only when this one is on disk. */
  readonly isBarrier?: true;
}

export interface AgentEnd {
  /** `closed`: the signal; `timeout`: nobody spoke after the work was done; `failed`: the runtime itself broke. */
  readonly reason: "closed" | "timeout" | "failed";
  readonly detail?: string;
  readonly turns: number;
}

/** Contract: `steps` never throws and always returns an end, soon after the signal is aborted; a step whose mark was
 *  recorded is not repeated when the agent is started again with that mark; every `agent.*` event carries `turn`. */
export interface AgentSession {
  readonly steps: AsyncGenerator<AgentStep, AgentEnd>;
  /** Takes a message for the agent, or says why not. */
  send(message: InboxMessage): string | undefined;
  /** Stops the running turn and keeps the session. */
  interrupt(message: InboxMessage): string | undefined;
}

export interface AgentRuntime {
  readonly name: string;
  readonly capabilities: AgentCapabilities;
  start(order: WorkOrder, signal: AbortSignal): AgentSession;
}
