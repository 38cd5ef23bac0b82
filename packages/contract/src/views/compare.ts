/** Two runs side by side: turn beside turn by what was done in them, and the first place where they part. */
import type { FeedRow, FileEdit } from "./feed-row.ts";
import type { LogEvent } from "./log-event.ts";
import { readNumber } from "./log-event.ts";
import { toSubject } from "./feed-tools.ts";
import { isWork } from "./replay.ts";

export interface RunTurn {
  readonly turn: number;
  /** Of its first row. */
  readonly seq: number;
  /** In words that are equal in both runs when the same was done: `edit src/a.ts`, `$ npm test`. */
  readonly actions: readonly string[];
  readonly edits: readonly FileEdit[];
  readonly added: number;
  readonly removed: number;
  readonly costUsd: number;
  /** Since the run's first event. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly errors: number;
  /** The last thing that the agent said in it. */
  readonly said: string;
}

export interface TurnPair {
  readonly a: RunTurn | undefined;
  readonly b: RunTurn | undefined;
  /** 0 for nothing in common to 1 for the same; 0 where one side is missing. */
  readonly likeness: number;
}

export interface Comparison {
  readonly pairs: readonly TurnPair[];
  /** Index of the first pair that is not the same; undefined when the runs did the same. */
  readonly parting: number | undefined;
}

/** Turns of one side times turns of the other; beyond this they stand beside each other by their order. */
const ALIGNED_CELLS = 40_000;
/** What a turn is worth that stands alone: below twice this likeness two turns stand rather alone than together. */
const ALONE = 0.05;

function toActions(row: FeedRow): readonly string[] {
  switch (row.kind) {
    case "command":
      return [`$ ${row.command}`];
    case "reads":
      return row.calls.map((call) => `${call.tool.toLowerCase()} ${toSubject(call)}`);
    case "edit":
      return row.edits.length > 0
        ? row.edits.map((edit) => `edit ${edit.path}`)
        : [`edit ${toSubject({ input: row.call?.input ?? {} })}`];
    case "tool":
      return [`${row.call.tool} ${toSubject(row.call)}`.trim()];
    case "todo":
      return ["plan"];
    case "permission":
      return [row.isQuestion ? "ask a question" : `ask to use ${row.tool ?? "a tool"}`];
    case "person":
      return [row.messageType === "interrupt" ? "be interrupted" : "be told something"];
    default:
      return [];
  }
}

/** Something in it went wrong. */
export const isFailedRow = (row: FeedRow): boolean => {
  if (row.kind === "error") return true;
  if (row.kind === "reads") return row.calls.some((call) => call.isError);
  return (row.kind === "command" || row.kind === "tool" || row.kind === "edit") && row.call?.isError === true;
};

type Draft<T> = { -readonly [K in keyof T]: T[K] };

/** What each turn of a run did. What comes before the first turn belongs to it. */
export function toTurns(rows: readonly FeedRow[], events: readonly LogEvent[]): readonly RunTurn[] {
  const turns = new Map<number, Draft<RunTurn>>();
  let turn = 1;
  for (const row of rows) {
    turn = Math.max(turn, row.turn ?? 0);
    const actions = toActions(row);
    const said = row.kind === "message" ? row.text : "";
    if (actions.length === 0 && said === "" && !isFailedRow(row)) continue;
    const known = turns.get(turn);
    const edits = row.kind === "edit" ? row.edits : [];
    turns.set(turn, {
      turn,
      seq: known?.seq ?? row.seq,
      actions: [...(known?.actions ?? []), ...actions],
      edits: [...(known?.edits ?? []), ...edits],
      added: edits.reduce((sum, edit) => sum + edit.added, known?.added ?? 0),
      removed: edits.reduce((sum, edit) => sum + edit.removed, known?.removed ?? 0),
      costUsd: 0,
      startMs: 0,
      durationMs: 0,
      errors: (known?.errors ?? 0) + (isFailedRow(row) ? 1 : 0),
      said: said === "" ? (known?.said ?? "") : said,
    });
  }
  addTimes(turns, events);
  return [...turns.values()];
}

function addTimes(turns: ReadonlyMap<number, Draft<RunTurn>>, events: readonly LogEvent[]): void {
  let turn = 1;
  const start = Date.parse(events[0]?.created_at ?? "");
  let from = start;
  for (const event of events) {
    const told = readNumber(event.event_data, "turn") ?? 0;
    const at = Date.parse(event.created_at);
    if (told > turn) {
      turn = told;
      from = at;
    }
    const open = turns.get(turn);
    if (open === undefined) continue;
    open.startMs = from - start;
    if (isWork(event)) open.durationMs = Math.max(open.durationMs, at - from);
    if (event.event_type === "agent.usage") open.costUsd += readNumber(event.event_data, "cost_usd") ?? 0;
  }
}

/** Share of what both did of all that either did, each as often as it was done. */
function toLikeness(a: RunTurn, b: RunTurn): number {
  if (a.actions.length === 0 && b.actions.length === 0) return a.said === b.said ? 1 : 0.5;
  const left = new Map<string, number>();
  for (const action of a.actions) left.set(action, (left.get(action) ?? 0) + 1);
  let common = 0;
  for (const action of b.actions) {
    const count = left.get(action) ?? 0;
    if (count === 0) continue;
    left.set(action, count - 1);
    common += 1;
  }
  return common / (a.actions.length + b.actions.length - common);
}

function pairByOrder(a: readonly RunTurn[], b: readonly RunTurn[]): readonly TurnPair[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, n) => toPair(a[n], b[n]));
}

const toPair = (a: RunTurn | undefined, b: RunTurn | undefined): TurnPair => ({
  a,
  b,
  likeness: a === undefined || b === undefined ? 0 : toLikeness(a, b),
});

/** How much two turns have in common, from 0 to 1. */
type Score = (a: RunTurn, b: RunTurn) => number;

/** Share of the time in which both were at work of the time in which either was. */
function toOverlap(a: RunTurn, b: RunTurn): number {
  const [endOfA, endOfB] = [a.startMs + Math.max(1, a.durationMs), b.startMs + Math.max(1, b.durationMs)];
  const both = Math.min(endOfA, endOfB) - Math.max(a.startMs, b.startMs);
  return Math.max(0, both) / (Math.max(endOfA, endOfB) - Math.min(a.startMs, b.startMs));
}

const SCORES = { turn: toLikeness, time: toOverlap } as const satisfies Record<string, Score>;

/** The pairing with the most in common: each turn stands beside one of the other run, or alone, and none changes its order. */
function pairByScore(a: readonly RunTurn[], b: readonly RunTurn[], score: Score): readonly TurnPair[] {
  const scoreAt = (i: number, j: number) => {
    const [one, other] = [a[i], b[j]];
    return one === undefined || other === undefined ? 0 : score(one, other);
  };
  const isFirst = (i: number, j: number) => (a[i]?.startMs ?? 0) <= (b[j]?.startMs ?? 0);
  const width = b.length + 1;
  const best = new Float64Array((a.length + 1) * width);
  const cell = (i: number, j: number) => best[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i * width + j] = Math.max(
        scoreAt(i, j) + cell(i + 1, j + 1),
        cell(i + 1, j) + ALONE,
        cell(i, j + 1) + ALONE,
      );
    }
  }
  const pairs: TurnPair[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const here = cell(i, j);
    const canLeaveA = here === cell(i + 1, j) + ALONE;
    const canLeaveB = here === cell(i, j + 1) + ALONE;
    if (here === scoreAt(i, j) + cell(i + 1, j + 1)) pairs.push(toPair(a[i++], b[j++]));
    // Where either may stand alone, what began first stands first.
    else if (canLeaveA && (!canLeaveB || isFirst(i, j))) pairs.push(toPair(a[i++], undefined));
    else pairs.push(toPair(undefined, b[j++]));
  }
  return [
    ...pairs,
    ...a.slice(i).map((turn) => toPair(turn, undefined)),
    ...b.slice(j).map((turn) => toPair(undefined, turn)),
  ];
}

const isSame = ({ a, b }: TurnPair): boolean =>
  a !== undefined && b !== undefined && a.actions.join("\n") === b.actions.join("\n");

export function compareRuns(
  a: readonly RunTurn[],
  b: readonly RunTurn[],
  align: "turn" | "order" | "time" = "turn",
): Comparison {
  const isSmall = a.length * b.length <= ALIGNED_CELLS;
  const pairs = align !== "order" && isSmall ? pairByScore(a, b, SCORES[align]) : pairByOrder(a, b);
  const parting = pairs.findIndex((pair) => !isSame(pair));
  return { pairs, parting: parting === -1 ? undefined : parting };
}

export interface FileTouch {
  readonly turn: number;
  readonly seq: number;
  readonly added: number;
  readonly removed: number;
}

export interface FilePair {
  readonly path: string;
  /** In which turns each run changed the file. */
  readonly a: readonly FileTouch[];
  readonly b: readonly FileTouch[];
}

function touchesOf(turns: readonly RunTurn[]): ReadonlyMap<string, readonly FileTouch[]> {
  const touches = new Map<string, FileTouch[]>();
  for (const { turn, seq, edits } of turns)
    for (const [path, own] of Map.groupBy(edits, (edit) => edit.path)) {
      const added = own.reduce((sum, edit) => sum + edit.added, 0);
      const removed = own.reduce((sum, edit) => sum + edit.removed, 0);
      touches.set(path, [...(touches.get(path) ?? []), { turn, seq, added, removed }]);
    }
  return touches;
}

/** Files that either run changed, by name. */
export function compareByFile(a: readonly RunTurn[], b: readonly RunTurn[]): readonly FilePair[] {
  const [left, right] = [touchesOf(a), touchesOf(b)];
  return [...new Set([...left.keys(), ...right.keys()])]
    .toSorted()
    .map((path) => ({ path, a: left.get(path) ?? [], b: right.get(path) ?? [] }));
}
