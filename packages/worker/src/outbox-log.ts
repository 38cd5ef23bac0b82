/** What the journal says: records folded into the events that are still owed and the notes that are kept. Pure. */
import type { Json, NewEvent } from "@drover/contract";

/** Small facts that are on disk exactly when the events they travel with are: `null` forgets a key. */
export type Notes = Readonly<Record<string, Json | null>>;

/** An event waiting to be acknowledged, as the text that is sent. */
export interface Entry {
  readonly n: number;
  json: string;
  bytes: number;
}

export type LogRecord =
  | { readonly k: "head"; readonly next: number }
  /** Events n, n+1, ...; recorded together or not at all. */
  | { readonly k: "events"; readonly n: number; readonly e: readonly NewEvent[]; readonly notes?: Notes }
  | { readonly k: "ack"; readonly n: number }
  | { readonly k: "notes"; readonly notes: Notes };

export interface LogState {
  /** The number the next event gets. */
  next: number;
  /** Everything up to here is at the server. */
  acked: number;
  entries: Entry[];
  entryBytes: number;
  readonly notes: Map<string, Json>;
}

export const emptyLog = (): LogState => ({ next: 1, acked: 0, entries: [], entryBytes: 0, notes: new Map() });

export function toEntry(n: number, event: NewEvent): Entry {
  const json = JSON.stringify(event);
  return { n, json, bytes: Buffer.byteLength(json) };
}

function foldNotes(state: LogState, notes: Notes | undefined): void {
  for (const [key, value] of Object.entries(notes ?? {})) {
    // Deleted first, so that a key written again moves to the end: notes are listed in the order they were made.
    state.notes.delete(key);
    if (value !== null) state.notes.set(key, value);
  }
}

function foldAck(state: LogState, n: number): void {
  state.acked = Math.max(state.acked, n);
  const kept = state.entries.findIndex((entry) => entry.n > n);
  for (const entry of state.entries.splice(0, kept === -1 ? state.entries.length : kept))
    state.entryBytes -= entry.bytes;
}

export function foldRecord(state: LogState, record: LogRecord): LogState {
  switch (record.k) {
    case "head":
      state.next = record.next;
      state.acked = record.next - 1;
      break;
    case "events":
      record.e.forEach((event, index) => {
        const n = record.n + index;
        state.next = n + 1;
        const entry = toEntry(n, event);
        state.entries.push(entry);
        state.entryBytes += entry.bytes;
      });
      foldNotes(state, record.notes);
      break;
    case "ack":
      foldAck(state, record.n);
      break;
    case "notes":
      foldNotes(state, record.notes);
      break;
  }
  return state;
}

/** The shortest journal that folds to the same state. */
export function* toRecords(state: LogState): Generator<LogRecord> {
  yield { k: "head", next: state.entries[0]?.n ?? state.next };
  if (state.notes.size > 0) yield { k: "notes", notes: Object.fromEntries(state.notes) };
  for (const entry of state.entries) yield { k: "events", n: entry.n, e: [JSON.parse(entry.json) as NewEvent] };
}
