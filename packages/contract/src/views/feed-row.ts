/** The rows of a run's feed. A row stands where its first event stood and takes in later events that belong to it. */
import type { Json, JsonObject } from "../json.ts";
import type { MessageState, SentType } from "../resources/message.ts";
import type { PermissionOption } from "../resources/permission.ts";

interface Row {
  /** sandbox_seq of its first event: the row's identity. */
  readonly seq: number;
  /** sandbox_seq of the newest event it took in. */
  readonly lastSeq: number;
  readonly at: string;
  readonly turn: number | null;
  /** The call by which a sub-agent was asked to do it; absent where the agent did it itself. */
  readonly within?: string;
}

export interface ToolCall {
  readonly seq: number;
  readonly toolUseId: string | null;
  readonly tool: string;
  readonly input: JsonObject;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly output: string | null;
  /** The worker cut the output; this many characters were there. */
  readonly outputLength: number | null;
  readonly isError: boolean;
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  /** That a sub-agent used; absent where nobody told. */
  readonly tokens?: number;
}

export interface FileEdit {
  readonly eventId: string;
  readonly path: string;
  readonly oldPath: string | null;
  readonly change: string;
  readonly added: number;
  readonly removed: number;
  /** A patch, complete or only its beginning. */
  readonly patch: string;
  readonly isComplete: boolean;
}

export interface TodoItem {
  readonly text: string;
  readonly state: "open" | "active" | "done";
}

export interface DeliveryStep {
  readonly state: MessageState;
  readonly at: string;
}

export interface MessageRow extends Row {
  readonly kind: "message" | "thinking";
  readonly text: string;
}
export interface PersonRow extends Row {
  readonly kind: "person";
  readonly messageId: string | null;
  readonly messageType: SentType;
  readonly text: string;
  /** The event carried only the beginning; the whole text is in the message's record. */
  readonly isCut: boolean;
  readonly steps: readonly DeliveryStep[];
  readonly detail: string | null;
}
export interface ToolRow extends Row {
  readonly kind: "tool";
  readonly call: ToolCall;
}
export interface CommandRow extends Row {
  readonly kind: "command";
  readonly call: ToolCall;
  readonly command: string;
}
export interface ReadsRow extends Row {
  readonly kind: "reads";
  readonly calls: readonly ToolCall[];
}
export interface EditRow extends Row {
  readonly kind: "edit";
  readonly call: ToolCall | null;
  readonly edits: readonly FileEdit[];
}
export interface TodoRow extends Row {
  readonly kind: "todo";
  readonly items: readonly TodoItem[];
}
export interface PermissionRow extends Row {
  readonly kind: "permission";
  readonly requestId: string | null;
  /** A question of the agent is answered by a text, everything else by yes or no. */
  readonly isQuestion: boolean;
  readonly tool: string | null;
  readonly detail: string;
  readonly input: JsonObject;
  readonly options: readonly PermissionOption[];
  /** Answers that the agent itself proposes to its question. */
  readonly choices: readonly string[];
  readonly deadlineAt: string | null;
  readonly answer: string | null;
  /** policy, person or deadline. */
  readonly by: string | null;
  readonly note: string | null;
  /** The agent has been told; until then a person's answer waits for the worker. */
  readonly isTold: boolean;
}
export interface GuardianRow extends Row {
  readonly kind: "guardian";
  readonly title: string;
  readonly text: string;
  readonly data: JsonObject;
}
export type Tone = "quiet" | "good" | "busy" | "warn" | "bad";
export interface LifecycleRow extends Row {
  readonly kind: "lifecycle";
  readonly title: string;
  readonly detail: string | null;
  readonly tone: Tone;
}
export interface ErrorRow extends Row {
  readonly kind: "error";
  readonly title: string;
  readonly detail: string;
}
export interface HeartbeatsRow extends Row {
  readonly kind: "heartbeats";
  readonly count: number;
  readonly lastAt: string;
}
export interface UsageRow extends Row {
  readonly kind: "usage";
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}
export interface UnknownRow extends Row {
  readonly kind: "unknown";
  readonly eventType: string;
  readonly source: string;
  readonly data: Json;
}

export type FeedRow =
  | MessageRow
  | PersonRow
  | ToolRow
  | CommandRow
  | ReadsRow
  | EditRow
  | TodoRow
  | PermissionRow
  | GuardianRow
  | LifecycleRow
  | ErrorRow
  | HeartbeatsRow
  | UsageRow
  | UnknownRow;

export const FEED_GROUPS = [
  "messages",
  "thinking",
  "commands",
  "edits",
  "tools",
  "errors",
  "guardian",
  "system",
] as const;
export type FeedGroup = (typeof FEED_GROUPS)[number];

const GROUP_OF_KIND: Readonly<Record<FeedRow["kind"], FeedGroup>> = {
  message: "messages",
  person: "messages",
  thinking: "thinking",
  command: "commands",
  edit: "edits",
  tool: "tools",
  reads: "tools",
  todo: "tools",
  permission: "guardian",
  guardian: "guardian",
  error: "errors",
  lifecycle: "system",
  heartbeats: "system",
  usage: "system",
  unknown: "system",
};

/** Which filter chip a row answers to. A failed command is a command and not an error of the run. */
export const toGroup = (row: FeedRow): FeedGroup => GROUP_OF_KIND[row.kind];
