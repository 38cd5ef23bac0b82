/** Keeps events on disk until the server has them.
 *  Contract: `append` resolves only after the bytes are on disk; what it accepted comes out once, in order, through any
 *  death of the process; one process per directory (the caller holds the lock). */
import { AppError, type Json, type NewEvent } from "@drover/contract";
import { createBell } from "./bell.ts";
import type { Clock } from "./clock.ts";
import type { Disk } from "./disk.ts";
import type { Fault } from "./fault.ts";
import { loadJournal, startJournal } from "./journal.ts";
import { emptyLog, type Entry, foldRecord, type LogRecord, type Notes, toEntry, toRecords } from "./outbox-log.ts";

export interface OutboxParts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly fault: Fault;
  /** Random, new for every process: with the event's number it makes `client_event_id`, also after a restored disk. */
  readonly openId: string;
  /** Bytes that may wait for the server; beyond it `append` waits. */
  readonly limitBytes: number;
  /** The journal is rewritten when this many of its bytes, and more than half, are no longer needed. */
  readonly compactAtBytes: number;
  readonly onTrouble: (error: NodeJS.ErrnoException | undefined) => void;
}

export interface Outbox {
  readonly tornBytes: number;
  /** Number of the last event recorded, ever. */
  readonly last: number;
  readonly acked: number;
  /** Events on disk that the server has not acknowledged. */
  readonly pending: number;
  /** Records events and notes together, or not at all; waits while the outbox is full. Resolves to the last number. */
  append(events: readonly NewEvent[], notes?: Notes): Promise<number>;
  /** Records an event that may be dropped: `undefined` when the outbox is full or the disk is in trouble. */
  offer(event: NewEvent): Promise<number | undefined>;
  /** Everything up to `n` is on its way to the server; 0: nothing is. */
  lend(n: number): void;
  /** Changes the text of an event that still waits and is not on its way; on disk the first text stays. */
  amend(n: number, event: NewEvent): boolean;
  note(notes: Notes): Promise<void>;
  getNote(key: string): Json | undefined;
  /** Notes whose key begins with `prefix`, oldest first. */
  listNotes(prefix: string): readonly (readonly [key: string, value: Json])[];
  /** The oldest waiting events, within both limits but at least one. */
  peek(maxEvents: number, maxBytes: number): readonly Entry[];
  /** The server has everything up to `n`. */
  ack(n: number): void;
  /** Resolves when events were added or acknowledged since the last wait. For one waiter. */
  changed(signal?: AbortSignal): Promise<void>;
  settled(): Promise<void>;
  close(): Promise<void>;
}

interface Waiting {
  readonly events: readonly NewEvent[];
  readonly notes: Notes | undefined;
  readonly bytes: number;
  readonly done: PromiseWithResolvers<number>;
}

export async function openOutbox(parts: OutboxParts): Promise<Outbox> {
  const loaded = await loadJournal(parts.disk);
  const state = (loaded?.records ?? []).reduce<ReturnType<typeof emptyLog>>(foldRecord, emptyLog());
  const bell = createBell();
  const waiting: Waiting[] = [];
  let next = state.next;
  let bytesInFlight = 0;
  let lent = 0;

  const journal = await startJournal({
    disk: parts.disk,
    clock: parts.clock,
    loaded,
    toSnapshot: () => toRecords(state),
    beforeRename: () => parts.fault("outbox.compacting"),
    onTrouble: parts.onTrouble,
  });

  const abandon = () => new AppError("data_dir.full", "the worker's journal was closed before the record was on disk");

  const submit = (record: LogRecord, isDurable: boolean) => {
    const done = Promise.withResolvers<void>();
    journal.write({
      record,
      isDurable,
      onWritten: () => {
        foldRecord(state, record);
        done.resolve();
      },
      onAbandoned: () => done.reject(abandon()),
    });
    return done.promise;
  };

  const fits = (bytes: number) => {
    const used = state.entryBytes + bytesInFlight;
    return used === 0 || used + bytes <= parts.limitBytes;
  };

  const start = ({ events, notes, bytes, done }: Waiting) => {
    const n = next;
    next += events.length;
    bytesInFlight += bytes;
    const named = events.map((event, index) => ({ ...event, client_event_id: `${parts.openId}-${n + index}` }));
    submit({ k: "events", n, e: named, ...(notes === undefined ? {} : { notes }) }, true)
      .finally(() => (bytesInFlight -= bytes))
      .then(() => {
        parts.fault("outbox.appended");
        bell.ring();
        done.resolve(n + events.length - 1);
      }, done.reject);
  };

  const admit = () => {
    for (let first = waiting[0]; first !== undefined && fits(first.bytes); first = waiting[0]) {
      waiting.shift();
      start(first);
    }
  };

  const append = (events: readonly NewEvent[], notes?: Notes) => {
    const bytes = events.reduce((sum, event) => sum + toEntry(0, event).bytes, 0);
    const entry = { events, notes, bytes, done: Promise.withResolvers<number>() };
    waiting.push(entry);
    admit();
    return entry.done.promise;
  };

  return {
    tornBytes: loaded?.tornBytes ?? 0,
    get last() {
      return state.next - 1;
    },
    get acked() {
      return state.acked;
    },
    get pending() {
      return state.entries.length;
    },
    append,
    async offer(event) {
      if (journal.isTroubled || waiting.length > 0 || !fits(toEntry(0, event).bytes)) return undefined;
      return append([event]);
    },
    lend: (n) => void (lent = n),
    amend(n, event) {
      const entry = state.entries[n - (state.entries[0]?.n ?? n)];
      // Of one that is on its way the server may have the first text: the new one would be taken for the same event, and lost.
      if (entry?.n !== n || n <= lent) return false;
      const { client_event_id } = JSON.parse(entry.json) as NewEvent;
      const amended = toEntry(n, { ...event, ...(client_event_id === undefined ? {} : { client_event_id }) });
      state.entryBytes += amended.bytes - entry.bytes;
      entry.json = amended.json;
      entry.bytes = amended.bytes;
      return true;
    },
    note: (notes) => submit({ k: "notes", notes }, true),
    getNote: (key) => state.notes.get(key),
    listNotes: (prefix) => [...state.notes].filter(([key]) => key.startsWith(prefix)),
    peek(maxEvents, maxBytes) {
      let bytes = 0;
      const count = state.entries
        .slice(0, maxEvents)
        .findIndex((entry, index) => (bytes += entry.bytes) > maxBytes && index > 0);
      return state.entries.slice(0, count === -1 ? maxEvents : count);
    },
    ack(n) {
      if (n <= state.acked) return;
      // In memory at once, on disk when it can: an acknowledgement that is lost costs a duplicate, which the server drops.
      foldRecord(state, { k: "ack", n });
      submit({ k: "ack", n }, false).catch(() => {});
      const needless = journal.size - state.entryBytes;
      if (needless > parts.compactAtBytes && needless > journal.size / 2) journal.compact();
      admit();
      bell.ring();
    },
    changed: (signal) => bell.wait(signal),
    settled: journal.settled,
    async close() {
      for (const entry of waiting.splice(0)) entry.done.reject(abandon());
      await journal.close();
    },
  };
}
