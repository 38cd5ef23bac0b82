/** A conversation with an agent that lives in another process or server: prompted, steered, cancelled. */
import type { AgentEvent, Receipt, WorkOrder } from "../agent-runtime.ts";
import type { Permissions } from "../permissions.ts";

/** How a prompt ended. */
export interface PromptEnd {
  /** `end_turn`, `cancelled`, `refusal`, `max_tokens`, ... */
  readonly stopReason: string;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
}

/** The agent is not there any more; the message says how it went. */
export class AgentGone extends Error {
  /** One of the classes that `agent.stream_error` knows. */
  readonly kind: "sigkill" | "command_failed" | "stream_init" | "unknown";

  constructor(message: string, kind: AgentGone["kind"]) {
    super(message);
    this.name = "AgentGone";
    this.kind = kind;
  }
}

/** Contract: events of a prompt are emitted before it ends; after `end` nothing is emitted any more. */
export interface Conversation {
  readonly sessionId: string;
  /** What the agent remembers of what went before. */
  readonly resumed: "native" | "fresh";
  /** Rejects with AgentGone when the agent dies, and with any other error when it refuses. */
  prompt(text: string): Promise<PromptEnd>;
  /** Puts a text into the prompt that runs; false: it has to wait for the end of it. */
  steer(text: string): Promise<boolean>;
  /** Absent: a prompt is cancelled and asked again instead. */
  readonly canSteer: boolean;
  cancel(): void;
  /** Events that end what the turn has begun. */
  finish(why: string): readonly AgentEvent[];
  readonly lastText: string;
  readonly costUsd: number | null;
  /** Settles when the agent is gone, with how. */
  readonly gone: Promise<AgentGone>;
  end(): Promise<void>;
}

/** What a conversation may use of the worker. */
export interface Talk {
  readonly order: WorkOrder;
  readonly permissions: Permissions;
  readonly signal: AbortSignal;
  getTurn(): number;
  /** How far the conversation's own log was read, for agents that have one; kept with the next step. */
  getCursor(): number | undefined;
  setCursor(cursor: number): void;
  emit(events: readonly AgentEvent[], receipt?: Receipt): void;
  /** Resolves when the log has room for more. */
  room(): Promise<void>;
}

/** Opens a conversation, or goes on with one. Rejects with AgentGone or a refusal. */
export type OpenConversation = (talk: Talk, sessionId: string | undefined) => Promise<Conversation>;
