/** events -> feed: what a person reads of a run. Every event goes into exactly one row, or into none and beside one. */
import type { FeedIndex } from "./feed-draft.ts";
import { emptyIndex, FeedDraft, toRowStart } from "./feed-draft.ts";
import {
  foldError,
  foldHeartbeat,
  foldLifecycle,
  foldUsage,
  isError,
  isLifecycle,
  toInputTokens,
} from "./feed-lifecycle.ts";
import { foldAddressed, foldMessageState, foldSaid } from "./feed-messages.ts";
import { foldPermissionAnswered, foldPermissionRequested } from "./feed-permission.ts";
import type { FeedRow, FileEdit, TodoItem } from "./feed-row.ts";
import { foldCommandOutput, foldFileEdited, foldResultGiven, foldToolEnd, foldToolUse } from "./feed-tools.ts";
import { toLoad, type Load } from "./load.ts";
import type { LogEvent } from "./log-event.ts";
import { readNumber, readText } from "./log-event.ts";

export interface ChangedFile {
  readonly path: string;
  readonly change: string;
  readonly added: number;
  readonly removed: number;
  /** Row of its newest edit. */
  readonly seq: number;
}

/** What the models' answers cost so far, as the gateway counted it. */
export interface Spent {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

export interface FeedView {
  readonly rows: readonly FeedRow[];
  /** sandbox_seq of the first and the last event folded; 0 and 0 for none. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly turn: number;
  readonly todo: readonly TodoItem[];
  readonly files: ReadonlyMap<string, ChangedFile>;
  readonly spent: Spent;
  readonly load: Load | undefined;
  readonly index: FeedIndex;
}

export const emptyFeed = (): FeedView => ({
  rows: [],
  firstSeq: 0,
  lastSeq: 0,
  turn: 0,
  todo: [],
  files: new Map(),
  spent: { calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 },
  load: undefined,
  index: emptyIndex(),
});

type FoldEvent = (draft: FeedDraft, event: LogEvent) => void;

/** Says nothing of its own: it belongs to the row before it. */
const foldBeside: FoldEvent = (draft) => {
  draft.placed = Math.max(0, draft.rows.length - 1);
};

const foldGuardian: FoldEvent = (draft, event) => {
  const data = event.event_data;
  const title = readText(data, "steering_type", "action", "verdict") ?? event.event_type.replace(/^guardian\./, "");
  draft.push({
    ...toRowStart(event),
    kind: "guardian",
    title,
    text: readText(data, "message", "reason", "summary") ?? "",
    data,
  });
};

const foldUnknown: FoldEvent = (draft, event) => {
  draft.push({
    ...toRowStart(event),
    kind: "unknown",
    eventType: event.event_type,
    source: event.source,
    data: event.event_data,
  });
};

const FOLDS: Readonly<Record<string, FoldEvent>> = {
  "agent.message": foldSaid("message"),
  "agent.thinking": foldSaid("thinking"),
  "agent.assistant_message": foldBeside,
  "agent.transcript_saved": foldBeside,
  "agent.user_message": foldAddressed,
  "agent.message_injected": foldAddressed,
  MESSAGE_QUEUED: foldAddressed,
  MESSAGE_STATE_CHANGED: foldMessageState,
  // Says of a message's row nothing that it does not show.
  "agent.processing": foldMessageState,
  "agent.tool_use": foldToolUse,
  "agent.subagent_invoked": foldToolUse,
  "agent.skill_invoked": foldToolUse,
  "agent.tool_result": foldToolEnd,
  "agent.user_tool_result": foldResultGiven,
  "agent.tool_completed": foldToolEnd,
  "agent.subagent_completed": foldToolEnd,
  "agent.skill_completed": foldToolEnd,
  "command.output": foldCommandOutput,
  "agent.file_edited": foldFileEdited,
  "agent.permission_requested": foldPermissionRequested,
  "agent.permission_answered": foldPermissionAnswered,
  PERMISSION_ANSWER_QUEUED: foldPermissionAnswered,
  "agent.heartbeat": foldHeartbeat,
  "spec.heartbeat": foldHeartbeat,
  heartbeat: foldHeartbeat,
  "agent.usage": foldUsage,
};

function pickFold(eventType: string): FoldEvent {
  const own = Object.hasOwn(FOLDS, eventType) ? FOLDS[eventType] : undefined;
  if (own !== undefined) return own;
  if (eventType.startsWith("guardian.")) return foldGuardian;
  if (isLifecycle(eventType)) return foldLifecycle;
  return isError(eventType) ? foldError : foldUnknown;
}

function noteFile(files: Map<string, ChangedFile>, edit: FileEdit, seq: number): void {
  const before = files.get(edit.path);
  files.set(edit.path, {
    path: edit.path,
    change: before?.change === "created" && edit.change === "modified" ? "created" : edit.change,
    added: (before?.added ?? 0) + edit.added,
    removed: (before?.removed ?? 0) + edit.removed,
    seq,
  });
}

const foldSpent = (spent: Spent, { event_data: data }: LogEvent): Spent => ({
  calls: spent.calls + 1,
  inputTokens: spent.inputTokens + toInputTokens(data),
  outputTokens: spent.outputTokens + (readNumber(data, "output_tokens") ?? 0),
  costUsd: spent.costUsd + (readNumber(data, "cost_usd") ?? 0),
});

/** Takes the view over: only the returned one may be folded further. `events` follow `view.lastSeq` in order. */
export function foldFeed(view: FeedView, events: readonly LogEvent[]): FeedView {
  if (events.length === 0) return view;
  const draft = new FeedDraft(view.rows, view.index);
  let { turn, todo, spent, load } = view;
  // Copied once for all events at hand: a run may change the same hundreds of files thousands of times.
  let files: Map<string, ChangedFile> | undefined;
  for (const event of events) {
    draft.placed = undefined;
    pickFold(event.event_type)(draft, event);
    const at = draft.placed ?? Math.max(0, draft.rows.length - 1);
    view.index.rowOfSeq.push(at);
    turn = Math.max(turn, readNumber(event.event_data, "turn") ?? 0);
    if (event.event_type === "agent.usage") spent = foldSpent(spent, event);
    load = toLoad(event) ?? load;
    const row = draft.rows[at];
    if (row?.kind === "todo") todo = row.items;
    for (const edit of draft.edits.splice(0))
      noteFile((files ??= new Map(view.files)), edit, row?.seq ?? event.sandbox_seq);
  }
  return {
    rows: draft.rows,
    firstSeq: view.firstSeq === 0 ? (events[0]?.sandbox_seq ?? 0) : view.firstSeq,
    lastSeq: events.at(-1)?.sandbox_seq ?? view.lastSeq,
    turn,
    todo,
    files: files ?? view.files,
    spent,
    load,
    index: view.index,
  };
}

/** Which row holds this event; -1 when it is not folded (yet). */
export const rowOfSeq = (view: FeedView, seq: number): number =>
  view.firstSeq === 0 ? -1 : (view.index.rowOfSeq[seq - view.firstSeq] ?? -1);
