/** A run as a strip: turns, the model, tools, tests, waiting, edits, errors and cost along a film in which silences are short. */
import { toInputTokens } from "./feed-lifecycle.ts";
import { toCommand } from "./feed-tools.ts";
import type { LogEvent } from "./log-event.ts";
import { readNumber, readRecord, readText } from "./log-event.ts";
import { isFailure, isWork, toFilm } from "./replay.ts";
import { isTestCommand } from "./test-runs.ts";

export interface Span {
  /** Of its first event, by which it is found again. */
  readonly seq: number;
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly isError: boolean;
}

export interface TurnSpan extends Span {
  readonly turn: number;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly costUsd: number;
  readonly tools: number;
  readonly edits: number;
  readonly errors: number;
}

export interface Timeline {
  readonly lengthMs: number;
  readonly turns: readonly TurnSpan[];
  /** What is left of the turns when tools and waiting are taken away: the model thinks and writes. */
  readonly model: readonly Span[];
  readonly tools: readonly Span[];
  /** Those of them that run tests. */
  readonly tests: readonly Span[];
  /** The agent stood still: for a message, for a permission, or because it was paused. */
  readonly waits: readonly Span[];
  readonly edits: readonly Span[];
  readonly errors: readonly Span[];
  /** What was spent by then, in steps. */
  readonly cost: readonly { readonly at: number; readonly usd: number }[];
  /** What each call gave the model to read: how its window fills, and empties when it is compacted. */
  readonly context: readonly { readonly at: number; readonly tokens: number }[];
}

const STARTS: ReadonlySet<string> = new Set(["agent.tool_use", "agent.subagent_invoked", "agent.skill_invoked"]);
const ENDS: ReadonlySet<string> = new Set([
  "agent.tool_completed",
  "agent.tool_result",
  "agent.user_tool_result",
  "agent.subagent_completed",
  "agent.skill_completed",
]);
/** They end no waiting. */
const BESIDE: ReadonlySet<string> = new Set([
  "agent.heartbeat",
  "spec.heartbeat",
  "heartbeat",
  "agent.usage",
  "MESSAGE_QUEUED",
  "workspace.checkpoint",
  "agent.transcript_saved",
  "agent.turn_complete",
]);

const LABEL_CHARACTERS = 80;

const toWait = ({ event_type: type, event_data: data }: LogEvent): string | undefined => {
  if (type === "agent.waiting") return "for a message";
  if (type === "agent.permission_requested") return "for a permission";
  return type === "STATE_CHANGED" && readText(data, "to") === "paused" ? "paused" : undefined;
};

type Draft<T> = { -readonly [K in keyof T]: T[K] };

class TimelineDraft {
  readonly turns: Draft<TurnSpan>[] = [];
  readonly tools: Draft<Span>[] = [];
  readonly tests: Span[] = [];
  readonly waits: Draft<Span>[] = [];
  readonly edits: Span[] = [];
  readonly errors: Span[] = [];
  readonly cost: { at: number; usd: number }[] = [];
  readonly context: { at: number; tokens: number }[] = [];
  private readonly openTools = new Map<string, Draft<Span>>();
  private wait: Draft<Span> | undefined;
  private usd = 0;

  take(event: LogEvent, at: number): void {
    const { event_type: type, event_data: data } = event;
    const point: Span = { seq: event.sandbox_seq, from: at, to: at, label: type, isError: false };
    this.takeTurn(event, at);
    const turn = this.turns.at(-1);
    this.takeWait(event, point);
    if (STARTS.has(type)) this.startTool(event, point, turn);
    if (ENDS.has(type)) this.endTool(event, at);
    if (type === "agent.file_edited") {
      this.edits.push({ ...point, label: readText(data, "file_path", "path") ?? "a file" });
      if (turn !== undefined) turn.edits += 1;
    }
    if (isFailure(event)) {
      this.errors.push({ ...point, label: readText(data, "error", "message") ?? type, isError: true });
      if (turn !== undefined) {
        turn.errors += 1;
        turn.isError = true;
      }
    }
    if (type === "agent.usage") {
      const usd = readNumber(data, "cost_usd") ?? 0;
      this.usd += usd;
      if (turn !== undefined) turn.costUsd += usd;
      this.cost.push({ at, usd: this.usd });
      const tokens = toInputTokens(data);
      if (tokens > 0) this.context.push({ at, tokens });
    }
  }

  private takeTurn(event: LogEvent, at: number): void {
    const told = readNumber(event.event_data, "turn") ?? 0;
    const last = this.turns.at(-1);
    if (told <= (last?.turn ?? 0)) {
      if (last === undefined || !isWork(event)) return;
      last.to = at;
      last.endedAt = event.created_at;
      return;
    }
    this.turns.push({
      seq: event.sandbox_seq,
      from: at,
      to: at,
      label: `Turn ${told}`,
      isError: false,
      turn: told,
      startedAt: event.created_at,
      endedAt: event.created_at,
      costUsd: 0,
      tools: 0,
      edits: 0,
      errors: 0,
    });
  }

  private takeWait(event: LogEvent, point: Span): void {
    if (this.wait !== undefined) {
      this.wait.to = point.from;
      if (BESIDE.has(event.event_type)) return;
      this.wait = undefined;
    }
    const label = toWait(event);
    if (label === undefined) return;
    this.wait = { ...point, label };
    this.waits.push(this.wait);
  }

  private startTool(event: LogEvent, point: Span, turn: Draft<TurnSpan> | undefined): void {
    const id = readText(event.event_data, "tool_use_id");
    // A call is told again when its input is complete.
    const known = id === null ? undefined : this.openTools.get(id);
    const span = known ?? { ...point, label: readText(event.event_data, "tool", "tool_name") ?? "Tool" };
    const command = toCommand(readRecord(event.event_data, "input", "tool_input"));
    if (command !== "") span.label = `$ ${command.slice(0, LABEL_CHARACTERS)}`;
    if (isTestCommand(command) && !this.tests.includes(span)) this.tests.push(span);
    if (known !== undefined) return;
    this.tools.push(span);
    if (id !== null) this.openTools.set(id, span);
    if (turn !== undefined) turn.tools += 1;
  }

  private endTool(event: LogEvent, at: number): void {
    const span = this.openTools.get(readText(event.event_data, "tool_use_id") ?? "");
    if (span === undefined) return;
    span.to = at;
    span.isError ||= isFailure(event);
  }
}

/** Of each turn, where neither a tool ran nor anybody was waited for. */
function toModelSpans(turns: readonly TurnSpan[], others: readonly Span[]): readonly Span[] {
  const busy = others.toSorted((one, other) => one.from - other.from);
  const spans: Span[] = [];
  let begun = 0;
  for (const turn of turns) {
    let { from: at, seq } = turn;
    const end = busy.findLastIndex(({ from }) => from <= turn.to) + 1;
    for (const one of [...busy.slice(begun, end), { ...turn, from: turn.to }]) {
      if (one.from > at) spans.push({ seq, from: at, to: one.from, label: "The model", isError: false });
      at = Math.max(at, one.to);
      seq = one.seq;
    }
    begun = Math.max(begun, end);
  }
  return spans;
}

export function toTimeline(events: readonly LogEvent[]): Timeline {
  const film = toFilm(events);
  const draft = new TimelineDraft();
  events.forEach((event, n) => draft.take(event, film[n] ?? 0));
  const { turns, tools, tests, waits, edits, errors, cost, context } = draft;
  const model = toModelSpans(turns, [...tools, ...waits]);
  return { lengthMs: film.at(-1) ?? 0, turns, model, tools, tests, waits, edits, errors, cost, context };
}
