/** Takes events from workers: many requests become one transaction, and each is answered after its commit. */
import {
  AppError,
  EVENT_DATA_LIMIT_BYTES,
  isReserved,
  type BatchReceipt,
  type EventId,
  type EventReceipt,
  type NewEvent,
  type SandboxId,
} from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { listKeys, type EventRow, type KeyRow } from "../store/events.ts";
import { lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import {
  announce,
  appendAtOnce,
  appendInTurn,
  type Appended,
  type EventDraft,
  type EventLogDeps,
} from "./event-log.ts";
import { openSeenSandboxes } from "./seen-sandboxes.ts";

export interface WorkerIdentity {
  readonly sandboxId: SandboxId;
  readonly generation: number;
}

interface Prepared extends NewEvent {
  readonly id: EventId;
  readonly dataText: string;
}

interface Submission {
  readonly worker: WorkerIdentity;
  readonly events: readonly Prepared[];
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

interface Group {
  readonly submissions: readonly Submission[];
  /** Called when only the commit is left, or when there will be none. */
  readonly onAppended: () => void;
}

/** Groups between their beginning and their commit: while one writes under the append lock, the next is read and parsed. */
const GROUPS_AT_ONCE = 2;

interface StoredReceipt {
  readonly id: EventId;
  readonly seq: number;
  readonly event_type: string;
  readonly created_at: Date;
}

interface Outcome {
  /** One per event given, in order; a duplicate's is that of the first. */
  readonly receipts: readonly StoredReceipt[];
  readonly accepted: number;
}

const GROUP_EVENTS = 4_000;
const GROUP_SUBMISSIONS = 256;
/** After one repeated event more are to be expected: a worker that got no answer sends all again. */
const REPEATS_MS = 10_000;

/** Everything about an event that can be refused without the database is refused here, before it joins a group. */
function prepare(event: NewEvent, deps: EventLogDeps): Prepared {
  if (isReserved(event.event_type)) throw new AppError("event.reserved", `only the server writes ${event.event_type}`);
  const dataText = JSON.stringify(event.event_data);
  // Measured only where it matters: a character has at most three bytes.
  if (3 * dataText.length > EVENT_DATA_LIMIT_BYTES && Buffer.byteLength(dataText) > EVENT_DATA_LIMIT_BYTES) {
    throw new AppError(
      "request.too_large",
      `event_data has at most ${EVENT_DATA_LIMIT_BYTES} bytes; send larger values as artifacts`,
    );
  }
  const { event_type, event_data, source, client_event_id } = event;
  return { event_type, event_data, source, client_event_id, id: deps.ids.event(), dataText };
}

function draftWorkerEvent(event: Prepared, sandbox: SandboxRow, worker: WorkerIdentity): EventDraft {
  return {
    id: event.id,
    sandbox,
    projectId: sandbox.project_id,
    entityType: "sandbox",
    entityId: sandbox.id,
    eventType: event.event_type,
    data: event.event_data,
    dataText: event.dataText,
    source: event.source,
    clientEventId: event.client_event_id ?? null,
    generation: worker.generation,
    causedBy: null,
    isFollowed: worker.generation === sandbox.generation,
  };
}

/** Sorts a group into new events and duplicates, also of one another. A closed sandbox refuses its submission alone. */
function planGroup(
  group: readonly Submission[],
  sandboxes: ReadonlyMap<SandboxId, SandboxRow>,
  stored: readonly KeyRow[],
) {
  const known = new Map<SandboxId, Map<string, EventId | KeyRow>>();
  const knownOf = (id: SandboxId) => {
    const keys = known.get(id) ?? new Map<string, EventId | KeyRow>();
    known.set(id, keys);
    return keys;
  };
  for (const key of stored) knownOf(key.sandbox_id).set(key.client_event_id, key);
  const drafts: EventDraft[] = [];
  const plans = group.map((submission) => {
    const sandbox = sandboxes.get(submission.worker.sandboxId);
    if (sandbox === undefined || sandbox.closed_at !== null) return undefined;
    let accepted = 0;
    const keys = knownOf(sandbox.id);
    const references = submission.events.map((event): EventId | KeyRow => {
      const key = event.client_event_id;
      const first = key === undefined ? undefined : keys.get(key);
      if (first !== undefined) return first;
      if (key !== undefined) keys.set(key, event.id);
      drafts.push(draftWorkerEvent(event, sandbox, submission.worker));
      accepted += 1;
      return event.id;
    });
    return { references, accepted };
  });
  return { drafts, plans };
}

async function listStored(tx: Db, group: readonly Submission[]): Promise<readonly KeyRow[]> {
  const keyed = group.flatMap(({ worker, events }) =>
    events.flatMap((event) =>
      event.client_event_id === undefined ? [] : [{ sandboxId: worker.sandboxId, key: event.client_event_id }],
    ),
  );
  if (keyed.length === 0) return [];
  return await listKeys(
    tx,
    keyed.map((one) => one.sandboxId),
    keyed.map((one) => one.key),
  );
}

const idsOf = (group: readonly Submission[]): readonly SandboxId[] => [
  ...new Set(group.map((submission) => submission.worker.sandboxId)),
];

interface Stored {
  readonly appended: Appended;
  readonly plans: ReturnType<typeof planGroup>["plans"];
  readonly sandboxes: ReadonlyMap<SandboxId, SandboxRow>;
}

async function storeGroup(
  tx: Db,
  deps: EventLogDeps,
  { submissions: group, onAppended }: Group,
  mayRepeat: boolean,
): Promise<Stored> {
  const sandboxes = new Map((await lockSandboxes(tx, idsOf(group))).map((row) => [row.id, row]));
  const stored = mayRepeat ? await listStored(tx, group) : [];
  const { drafts, plans } = planGroup(group, sandboxes, stored);
  const appended = await appendInTurn(tx, deps, drafts);
  onAppended();
  deps.fault("ingest.before_commit");
  return { appended, plans, sandboxes };
}

function settle(group: readonly Submission[], rows: readonly EventRow[], plans: Stored["plans"]): void {
  const rowsById = new Map<string, StoredReceipt>(rows.map((row) => [row.id, row]));
  group.forEach((submission, index) => {
    const plan = plans[index];
    if (plan === undefined)
      return submission.reject(new AppError("auth.required", "the sandbox has ended and its token is void"));
    const receipts = plan.references.map((reference) =>
      typeof reference === "string" ? rowsById.get(reference) : reference,
    );
    submission.resolve({ receipts: receipts.filter((one) => one !== undefined), accepted: plan.accepted });
  });
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}

export interface Ingest {
  one(worker: WorkerIdentity, event: NewEvent): Promise<EventReceipt>;
  batch(worker: WorkerIdentity, events: readonly NewEvent[]): Promise<BatchReceipt>;
}

/** The database has one of the keys already: an event of the group is a repeated one. */
const isRepeat = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "23505";

export function openIngest(deps: EventLogDeps): Ingest {
  let waiting: Submission[] = [];
  let running = 0;
  let repeatsUntilMs = 0;
  const seen = openSeenSandboxes();
  /** Sandboxes of groups under way: what comes for one of them meanwhile joins a later group. */
  const busy = new Set<SandboxId>();

  /** One statement where every row is as this process left it, which is the rule: a sandbox has one worker. */
  const storeAtOnce = async ({ submissions }: Group, nowMs: number): Promise<Stored | undefined> => {
    const ids = idsOf(submissions);
    const found = nowMs < repeatsUntilMs ? undefined : seen.find(ids, nowMs);
    if (found === undefined) return undefined;
    const sandboxes = new Map([...found].map(([id, { row }]) => [id, row]));
    const { drafts, plans } = planGroup(submissions, sandboxes, []);
    if (plans.includes(undefined)) return undefined;
    // Forgotten until it is known what they are.
    seen.forget(ids);
    const versions = [...found].map(([id, { version }]) => ({ id, version }));
    const appended = await appendAtOnce(deps, drafts, versions);
    return appended === undefined ? undefined : { appended, plans, sandboxes };
  };

  /** Keys are new as a rule, and their constraint tells when one is not: only then, and for a while after, they are
   *  looked up before. */
  const storeRows = async (group: Group): Promise<Stored> => {
    const nowMs = deps.clock.now().getTime();
    try {
      const atOnce = await storeAtOnce(group, nowMs);
      return atOnce ?? (await deps.db.tx((tx) => storeGroup(tx, deps, group, nowMs < repeatsUntilMs)));
    } catch (error) {
      if (!isRepeat(error)) throw error;
      repeatsUntilMs = nowMs + REPEATS_MS;
      return await deps.db.tx((tx) => storeGroup(tx, deps, group, true));
    }
  };

  const storeOnce = async (group: Group) => {
    const { appended, plans, sandboxes } = await storeRows(group);
    deps.fault("ingest.committed");
    const nowMs = deps.clock.now().getTime();
    for (const [id, facts] of appended.facts) {
      const row = sandboxes.get(id);
      if (row !== undefined && appended.version !== undefined)
        seen.remember(row, { facts, version: appended.version, nowMs });
    }
    announce(deps, appended.rows);
    deps.fault("ingest.published");
    settle(group.submissions, appended.rows, plans);
  };

  const takeGroup = (): readonly Submission[] => {
    const group: Submission[] = [];
    const left: Submission[] = [];
    let events = 0;
    let isFull = false;
    for (const submission of waiting) {
      isFull ||=
        group.length > 0 && (events + submission.events.length > GROUP_EVENTS || group.length >= GROUP_SUBMISSIONS);
      if (isFull || busy.has(submission.worker.sandboxId)) left.push(submission);
      else {
        group.push(submission);
        events += submission.events.length;
      }
    }
    waiting = left;
    return group;
  };

  const store = async (group: Group): Promise<void> => {
    const { submissions, onAppended } = group;
    try {
      await storeOnce(group);
    } catch (error) {
      // Expected: the database is away (all are told), or one submission cannot be stored (it alone is told).
      if (submissions.length === 1 || error instanceof AppError) {
        for (const submission of submissions) submission.reject(error);
        return;
      }
      for (const submission of submissions) await store({ submissions: [submission], onAppended: () => undefined });
    } finally {
      onAppended();
    }
  };

  /** Groups of the same sandbox follow one another, so that its numbers and times rise together. */
  const flush = () => {
    while (waiting.length > 0 && running < GROUPS_AT_ONCE) {
      const submissions = takeGroup();
      if (submissions.length === 0) return;
      const ids = idsOf(submissions);
      for (const id of ids) busy.add(id);
      running += 1;
      const end = once(() => {
        running -= 1;
        flush();
      });
      void store({ submissions, onAppended: end }).finally(() => {
        for (const id of ids) busy.delete(id);
        flush();
      });
    }
  };

  let isFlushSet = false;
  /** After all requests that have arrived by now are read: those that come together are stored together. */
  const flushSoon = () => {
    if (isFlushSet) return;
    isFlushSet = true;
    setImmediate(() => {
      isFlushSet = false;
      flush();
    });
  };

  const submit = (worker: WorkerIdentity, events: readonly NewEvent[]): Promise<Outcome> => {
    const prepared = events.map((event) => prepare(event, deps));
    return new Promise((resolve, reject) => {
      waiting.push({ worker, events: prepared, resolve, reject });
      flushSoon();
    });
  };

  return {
    one: async (worker, event) => {
      const [receipt] = (await submit(worker, [event])).receipts;
      if (receipt === undefined) throw new Error("a stored event has no receipt");
      return {
        status: "received",
        sandbox_id: worker.sandboxId,
        event_type: receipt.event_type,
        event_id: receipt.id,
        seq: receipt.seq,
        timestamp: receipt.created_at.toISOString(),
      };
    },
    batch: async (worker, events) => {
      const { receipts, accepted } = await submit(worker, events);
      return {
        status: "received",
        sandbox_id: worker.sandboxId,
        accepted,
        duplicates: events.length - accepted,
        last_seq: receipts.reduce((last, receipt) => Math.max(last, receipt.seq), 0),
      };
    },
  };
}
