/** What the worker drives: an agent that works on an order, says what it does, and can be spoken to. */
import type {
  InboxMessage,
  Json,
  JsonObject,
  McpServer,
  PermissionMode,
  PermissionPolicy,
  Subagent,
} from "@drover/contract";
import type { Clock } from "./clock.ts";

export interface AgentCapabilities {
  /** How a message gets into the turn that runs: by the agent's own input, by an extension of its protocol, as a second
   *  prompt that it folds in, or by cancelling the turn and asking again. */
  readonly steer: "native" | "extension" | "reprompt" | "cancel";
  /** A turn can be stopped and the session kept. */
  readonly interrupt: boolean;
  /** Policy is asked before each tool, and each tool waits until what the one before changed was looked at. */
  readonly hooks: boolean;
  /** How it is held to what it may do: policy is asked before each tool, or when the agent asks by itself, or it never asks where the
   *  sandbox holds it in, and is refused a policy that somebody would have to keep. */
  readonly permission: "hooks" | "requests" | "none";
  /** What becomes of `disallowed_tools`: the agent is started without them, or one that used such a tool unasked is stopped afterwards, or
   *  it is not started at all with such an order. */
  readonly toolLimits: "prevented" | "noticed" | "refused";
  /** The agent counts its own cost; the gateway's figures are the true ones. */
  readonly cost: boolean;
  /** What a restarted agent still knows: everything, a summary it is told, or nothing. */
  readonly resume: "native" | "reseeded" | "fresh";
  readonly subagents: boolean;
}

/** A session to go on with. */
export interface Resume {
  readonly sessionId: string;
  readonly how: AgentCapabilities["resume"];
  /** For a reseeded start: what the agent is told of what went before. */
  readonly preface?: string;
}

/** A moment at which files may have changed: a tool has ended, or a turn. */
export interface Boundary {
  readonly kind: "tool" | "turn";
  readonly turn: number;
  readonly toolUseId?: string;
}

export interface WorkOrder {
  readonly sandboxId: string;
  readonly prompt: string;
  readonly model: string | null;
  readonly branch: string | null;
  readonly script: JsonObject | null;
  /** The agent's program, for runtimes that take any. */
  readonly command: readonly string[] | null;
  readonly cwd: string;
  /** For the agent's own processes; holds no credential of the worker. */
  readonly env: Readonly<Record<string, string>>;
  /** A directory of its own for the agent's processes, kept over restarts of the worker. */
  readonly home: string;
  /** Where the agent's package is mounted; undefined when it needs none or is not there. */
  readonly agentHome: string | undefined;
  /** Models and Git are reached below this address; it needs no credential. Empty when there is no bridge. */
  readonly bridgeUrl: string;
  /** The last call of a model was refused because no money is left: the agent waits for a person, and has not failed. */
  readonly isBudgetSpent: () => boolean;
  /** The sandbox holds the agent in, so that it may be allowed everything. */
  readonly isIsolated: boolean;
  readonly permissionMode: PermissionMode;
  readonly permissionPolicy: PermissionPolicy;
  readonly maxTurns: number | null;
  /** A limit that the agent keeps by its own count; budgets are kept by the gateway. */
  readonly maxBudgetUsd: number | null;
  readonly timeoutSeconds: number | null;
  /** Tools that need no permission, and tools that are not offered. */
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
  readonly mcpServers: Readonly<Record<string, McpServer>>;
  /** Null: none, not even those that the agent brings along, where it can be kept from them. */
  readonly subagents: Readonly<Record<string, Subagent>> | null;
  readonly skills: boolean;
  /** Whether the agent may ask a person; null: where the policy says that a person is asked. */
  readonly questions: boolean | null;
  /** Whose settings the agent loads, where it knows several; null: those of the repository. */
  readonly settingSources: readonly string[] | null;
  /** Stands in place of the agent's own, where it can be replaced; else at the beginning of the first prompt. */
  readonly systemPrompt: string | null;
  readonly systemPromptAppend: string | null;
  readonly continuous: boolean;
  readonly resume: Resume | null;
  /** The last mark that was recorded: where to go on. */
  readonly mark: Json | undefined;
  readonly postCompletionSeconds: number;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Keeps bytes too large for an event; resolves to their id. */
  readonly keepArtifact: (bytes: Buffer) => Promise<string>;
  /** Asked after each tool and each turn; awaited before the next tool begins. The events are recorded with what ended. */
  readonly atBoundary: (at: Boundary) => Promise<readonly AgentEvent[]>;
}

export interface AgentEvent {
  /** Where it is the worker's own word about the agent. */
  readonly source?: "worker";
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

/** A person's answer to a permission request; `messageId` is the message that brought it. */
export interface PermissionAnswer {
  readonly messageId: string;
  readonly requestId: string;
  readonly decision: "allow" | "deny";
  readonly optionId?: string;
  /** The answer to a question. */
  readonly text?: string;
  readonly note?: string;
}

/** Contract: `steps` never throws and always returns an end, soon after the signal is aborted; a step whose mark was
 *  recorded is not repeated when the agent is started again with that mark; every `agent.*` event carries `turn`, and
 *  turns never go back; a message that was taken gets exactly one receipt, unless the session ends before. */
export interface AgentSession {
  readonly steps: AsyncGenerator<AgentStep, AgentEnd>;
  /** Takes a message for the agent, or says why not. `delivery: "queue"` waits for the end of the turn. */
  send(message: InboxMessage): string | undefined;
  /** Stops the running turn and keeps the session. */
  interrupt(message: InboxMessage): string | undefined;
  /** Answers what `agent.permission_requested` asked, or says why nobody waits for it. */
  answerPermission(answer: PermissionAnswer): string | undefined;
  /** The agent's own name for what it remembers, once it has one. */
  getSessionId?(): string | undefined;
}

export interface AgentRuntime {
  readonly name: string;
  readonly capabilities: AgentCapabilities;
  start(order: WorkOrder, signal: AbortSignal): AgentSession;
  /** The file in which the agent keeps what it remembers of a session: saved from there, and put back there before a start. */
  transcriptPath?(order: Pick<WorkOrder, "home" | "cwd">, sessionId: string): string;
  /** Its mark is enough to go on with everything in another sandbox: what it remembers stands in it, or is kept elsewhere. */
  isWholeInMark?(order: Pick<WorkOrder, "env">): boolean;
}
