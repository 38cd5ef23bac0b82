/** A run as of any of its events. Folds are kept at intervals, so that going back costs as little as going on. */
import { copyIndex } from "./feed-draft.ts";
import { emptyFeed, foldFeed, type FeedView } from "./feed.ts";
import { isError } from "./feed-lifecycle.ts";
import type { LogEvent } from "./log-event.ts";
import { readNumber, readRecord } from "./log-event.ts";

const KEPT_EVERY = 2_000;
/** A silence longer than this is played as this long. */
const LONGEST_SILENCE_MS = 2_000;

const copyView = (view: FeedView): FeedView => ({ ...view, index: copyIndex(view.index) });

/** Where in a log the last event up to a number stands; -1 when all come later. The log has no holes. */
export const indexOfSeq = (events: readonly LogEvent[], seq: number): number => {
  const first = events[0]?.sandbox_seq;
  return first === undefined ? -1 : Math.min(events.length - 1, seq - first);
};

/** Remembers folds of one log, which may grow at either end. */
export class ReplayTrack {
  private first = 0;
  /** After 0, KEPT_EVERY, 2 * KEPT_EVERY ... events. Never folded further, only copied. */
  private kept: FeedView[] = [];

  at(events: readonly LogEvent[], seq: number): FeedView {
    const first = events[0]?.sandbox_seq ?? 0;
    if (first !== this.first) this.kept = [];
    this.first = first;
    const count = indexOfSeq(events, seq) + 1;
    if (count <= 0) return emptyFeed();
    const before = this.ensureKept(events, Math.floor(count / KEPT_EVERY));
    return foldFeed(copyView(before.view), events.slice(before.count, count));
  }

  private ensureKept(events: readonly LogEvent[], at: number): { readonly view: FeedView; readonly count: number } {
    if (this.kept.length === 0) this.kept.push(emptyFeed());
    while (this.kept.length <= at) {
      const last = this.kept.length - 1;
      const next = events.slice(last * KEPT_EVERY, (last + 1) * KEPT_EVERY);
      this.kept.push(foldFeed(copyView(this.kept[last] ?? emptyFeed()), next));
    }
    return { view: this.kept[at] ?? emptyFeed(), count: at * KEPT_EVERY };
  }
}

/** They happen beside the work of a turn, or after it. */
const BESIDE =
  /^(?:(?:agent|spec)\.heartbeat|heartbeat|agent\.(?:usage|waiting|shutdown|turn_complete|transcript_saved)|MESSAGE_.*|STATE_CHANGED|TERMINATED.*|WORKER_REPLACED|workspace\..*|sandbox\..*|terminal\..*|guardian\..*)$/;

export const isWork = ({ event_type }: Pick<LogEvent, "event_type">): boolean => !BESIDE.test(event_type);

/** Places worth stopping at, each by its number in the log, in order. */
export interface Stops {
  readonly turns: readonly number[];
  /** Where the files after the change can be read, if a checkpoint says so. */
  readonly edits: readonly number[];
  readonly errors: readonly number[];
}

const ENDS: ReadonlySet<string> = new Set(["agent.tool_completed", "agent.tool_result", "agent.user_tool_result"]);

export function isFailure({ event_type: type, event_data: data }: LogEvent): boolean {
  if (isError(type) || (type === "agent.completed" && data["success"] === false)) return true;
  if (!ENDS.has(type)) return false;
  const exit =
    readNumber(data, "exit_code", "exitCode") ??
    readNumber(readRecord(data, "tool_response", "result", "output"), "exit_code", "exitCode", "code");
  return data["is_error"] === true || (exit !== null && exit !== 0);
}

export function listStops(events: readonly LogEvent[]): Stops {
  const turns: number[] = [];
  const edits: number[] = [];
  const errors: number[] = [];
  let turn = 0;
  let isChanged = false;
  for (const event of events) {
    const told = readNumber(event.event_data, "turn") ?? 0;
    if (told > turn) {
      turn = told;
      turns.push(event.sandbox_seq);
    }
    if (event.event_type === "agent.file_edited") {
      // Several files of one step are one stop.
      if (isChanged) edits.pop();
      edits.push(event.sandbox_seq);
      isChanged = true;
    } else {
      if (isChanged && event.event_type === "workspace.checkpoint") edits[edits.length - 1] = event.sandbox_seq;
      isChanged = false;
    }
    if (isFailure(event)) errors.push(event.sandbox_seq);
  }
  return { turns, edits, errors };
}

/** The stop after or before a place; undefined when there is none. */
export const pickStop = (stops: readonly number[], from: number, step: 1 | -1): number | undefined =>
  step === 1 ? stops.find((seq) => seq > from) : stops.findLast((seq) => seq < from);

/** When each event is shown, in milliseconds of a film in which silences are short. */
export function toFilm(events: readonly Pick<LogEvent, "created_at">[]): Float64Array {
  const film = new Float64Array(events.length);
  let last = Date.parse(events[0]?.created_at ?? "");
  let at = 0;
  events.forEach((event, n) => {
    const ms = Date.parse(event.created_at);
    at += Math.max(0, Math.min(LONGEST_SILENCE_MS, ms - last));
    last = ms;
    film[n] = at;
  });
  return film;
}

/** The last event that is shown at a time of the film; -1 for none. */
export function eventAtFilm(film: Float64Array, ms: number): number {
  let low = 0;
  let high = film.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((film[middle] ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
