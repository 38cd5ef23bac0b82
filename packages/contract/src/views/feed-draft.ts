/** The fold's workbench: rows being written, and where the events seen so far went. */
import type { FeedRow, FileEdit } from "./feed-row.ts";
import type { LogEvent } from "./log-event.ts";
import { readNumber, readText } from "./log-event.ts";

/** Grows with the log and is handed from view to view, never copied. */
export interface FeedIndex {
  /** sandbox_seq - first sandbox_seq -> row. */
  readonly rowOfSeq: number[];
  readonly rowOfTool: Map<string, number>;
  readonly rowOfMessage: Map<string, number>;
  readonly rowOfPermission: Map<string, number>;
  heartbeats: number;
  usage: number;
}

export const emptyIndex = (): FeedIndex => ({
  rowOfSeq: [],
  rowOfTool: new Map(),
  rowOfMessage: new Map(),
  rowOfPermission: new Map(),
  heartbeats: -1,
  usage: -1,
});

export const copyIndex = (index: FeedIndex): FeedIndex => ({
  ...index,
  rowOfSeq: [...index.rowOfSeq],
  rowOfTool: new Map(index.rowOfTool),
  rowOfMessage: new Map(index.rowOfMessage),
  rowOfPermission: new Map(index.rowOfPermission),
});

export class FeedDraft {
  readonly rows: FeedRow[];
  readonly index: FeedIndex;
  readonly edits: FileEdit[] = [];
  /** Where the event at hand went; undefined until a fold has placed it. */
  placed: number | undefined;

  constructor(rows: readonly FeedRow[], index: FeedIndex) {
    this.rows = [...rows];
    this.index = index;
  }

  push(row: FeedRow): number {
    this.placed = this.rows.push(row) - 1;
    return this.placed;
  }

  replace(at: number, row: FeedRow): void {
    this.rows[at] = row;
    this.placed = at;
  }

  /** The newest row that is not a folded-away line, so that a heartbeat does not break a group. */
  lastLoud(): number {
    let at = this.rows.length - 1;
    while (at >= 0 && (this.rows[at]?.kind === "heartbeats" || this.rows[at]?.kind === "usage")) at -= 1;
    return at;
  }
}

export const toRowStart = (event: LogEvent) => {
  const within = readText(event.event_data, "parent_tool_use_id");
  return {
    seq: event.sandbox_seq,
    lastSeq: event.sandbox_seq,
    at: event.created_at,
    turn: readNumber(event.event_data, "turn"),
    ...(within === null ? {} : { within }),
  };
};
