/** Writing to the log: events join the transaction of what they tell about, and are announced once that is committed. */
import {
  AGENT_STATUS,
  foldFacts,
  foldState,
  decideStates,
  toTraits,
  type EventTraits,
  type SandboxFacts,
} from "@drover/core";
import {
  TERMINAL_SANDBOX_STATES,
  type EventId,
  type EventSource,
  type JsonObject,
  type SandboxId,
  type SandboxState,
} from "@drover/contract";
import type { Bus } from "../ports/bus.ts";
import type { Clock } from "../ports/clock.ts";
import type { Db } from "../ports/db.ts";
import type { Fault } from "../ports/fault.ts";
import type { Ids } from "../ports/ids.ts";
import { appendRows, appendToSeen, toEventColumns, type EventRow, type SeenSandbox } from "../store/events.ts";
import { expireMessages } from "../store/messages.ts";
import { closePermissions } from "../store/permissions.ts";
import type { SandboxProjection, SandboxRow } from "../store/sandboxes.ts";
import { followPermissions, isPermission } from "./follow-permissions.ts";
import { toTailEvent } from "./tail-event.ts";
import type { Tail } from "./tail-events.ts";

export interface Transition {
  readonly from: SandboxState;
  readonly to: SandboxState;
  readonly cause: string;
}

export interface EventDraft {
  readonly id: EventId;
  /** The sandbox whose log it joins; its row is locked by this transaction. */
  readonly sandbox: SandboxRow | null;
  readonly projectId: string | null;
  readonly entityType: string;
  readonly entityId: string;
  readonly eventType: string;
  readonly data: JsonObject;
  readonly dataText: string;
  readonly source: EventSource;
  readonly clientEventId: string | null;
  readonly generation: number | null;
  readonly causedBy: EventId | null;
  /** The state this event tells of, already decided. */
  readonly transition?: Transition;
  /** Whether a worker of the present generation says it, so that the sandbox's state follows. */
  readonly isFollowed: boolean;
}

export interface EventLogDeps {
  readonly db: Db;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly tail: Tail;
  readonly fault: Fault;
}

const SHADOWING = ["source", "original_event_type"];
const WORKER_SOURCES: ReadonlySet<EventSource> = new Set(["agent", "worker", "system"]);

export interface ServerEvent {
  readonly eventType: string;
  readonly data: JsonObject;
  readonly source?: "user" | "guardian" | "server";
  readonly causedBy?: EventId | null;
  readonly transition?: Transition;
}

/** An event that the server writes into a sandbox's log. */
export const draftSandboxEvent = (ids: Ids, sandbox: SandboxRow, event: ServerEvent): EventDraft => ({
  id: ids.event(),
  sandbox,
  projectId: sandbox.project_id,
  entityType: "sandbox",
  entityId: sandbox.id,
  eventType: event.eventType,
  data: event.data,
  dataText: JSON.stringify(event.data),
  source: event.source ?? "server",
  clientEventId: null,
  generation: sandbox.generation,
  causedBy: event.causedBy ?? null,
  isFollowed: false,
  ...(event.transition === undefined ? {} : { transition: event.transition }),
});

/** An event that the server writes about something that is not a sandbox. */
export const draftEvent = (
  ids: Ids,
  entity: { readonly type: string; readonly id: string; readonly projectId: string | null },
  event: ServerEvent,
): EventDraft => ({
  id: ids.event(),
  sandbox: null,
  projectId: entity.projectId,
  entityType: entity.type,
  entityId: entity.id,
  eventType: event.eventType,
  data: event.data,
  dataText: JSON.stringify(event.data),
  source: event.source ?? "server",
  clientEventId: null,
  generation: null,
  causedBy: event.causedBy ?? null,
  isFollowed: false,
});

/** An event about the agent in a sandbox, and no row of its log. The entity's id is not the sandbox's: who follows a sandbox by its id gets
 *  its log, without a row that has no place in it. */
export const draftAgentEvent = (
  ids: Ids,
  sandbox: Pick<SandboxRow, "id" | "project_id" | "task_id">,
  event: ServerEvent,
): EventDraft =>
  draftEvent(
    ids,
    { type: "agent", id: `agent-${sandbox.id}`, projectId: sandbox.project_id },
    { ...event, data: { agent_id: sandbox.id, task_id: sandbox.task_id, ...event.data } },
  );

/** What a transition means for the agent; undefined when its status stays. */
function draftAgentStatus(ids: Ids, sandbox: SandboxRow, { from, to, cause }: Transition, causedBy: EventId) {
  const [old_status, new_status] = [AGENT_STATUS[from], AGENT_STATUS[to]];
  if (old_status === new_status) return undefined;
  const data = { old_status, new_status, reason: cause };
  return draftAgentEvent(ids, sandbox, { eventType: "AGENT_STATUS_CHANGED", data, causedBy });
}

export const draftTransition = (
  ids: Ids,
  sandbox: SandboxRow,
  transition: Transition,
  causedBy: EventId | null,
): EventDraft =>
  draftSandboxEvent(ids, sandbox, { eventType: "STATE_CHANGED", data: { ...transition }, causedBy, transition });

function toRow(draft: EventDraft, sandboxSeq: number | null, at: Date, traits: EventTraits): EventRow {
  return {
    seq: 0,
    id: draft.id,
    sandbox_id: draft.sandbox?.id ?? null,
    sandbox_seq: sandboxSeq,
    project_id: draft.projectId,
    task_id: draft.sandbox?.task_id ?? null,
    entity_type: draft.entityType,
    entity_id: draft.entityId,
    event_type: draft.eventType,
    data_text: draft.dataText,
    shadows: SHADOWING.some((key) => Object.hasOwn(draft.data, key)),
    source: draft.source,
    created_at: at,
    client_event_id: draft.clientEventId,
    generation: draft.generation,
    caused_by: draft.causedBy,
    turn: traits.turn,
    tool: traits.tool,
    ref: traits.ref,
    flags: traits.flags,
  };
}

/** Turns drafts into rows and folds them into the facts of their sandboxes; a followed event may bring transitions with it. */
function plan(drafts: readonly EventDraft[], ids: Ids, at: Date) {
  const facts = new Map<SandboxId, SandboxFacts>();
  const ended = new Set<SandboxId>();
  const rows: EventRow[] = [];
  const add = (draft: EventDraft) => {
    const traits = toTraits(draft.eventType, draft.data, !WORKER_SOURCES.has(draft.source));
    if (draft.sandbox === null) return void rows.push(toRow(draft, null, at, traits));
    const before = facts.get(draft.sandbox.id) ?? draft.sandbox;
    const isFromWorker = draft.isFollowed && WORKER_SOURCES.has(draft.source);
    const turn = draft.isFollowed ? traits.turn : null;
    let after = foldFacts(before, { eventType: draft.eventType, turn, at, isFromWorker });
    if (draft.transition !== undefined) after = foldState(after, draft.transition.to, draft.transition.cause, at);
    facts.set(draft.sandbox.id, after);
    if (draft.transition !== undefined && TERMINAL_SANDBOX_STATES.has(after.state)) ended.add(draft.sandbox.id);
    rows.push(toRow(draft, after.last_sandbox_seq, at, traits));
    const told =
      draft.transition === undefined ? undefined : draftAgentStatus(ids, draft.sandbox, draft.transition, draft.id);
    if (told !== undefined) add(told);
    if (!draft.isFollowed || TERMINAL_SANDBOX_STATES.has(after.state)) return;
    let from = after.state;
    for (const to of decideStates(from, draft.eventType)) {
      add(draftTransition(ids, draft.sandbox, { from, to, cause: draft.eventType }, draft.id));
      from = to;
    }
  };
  for (const draft of drafts) add(draft);
  return { facts, ended, rows };
}

const toProjection = (id: SandboxId, fact: SandboxFacts, lastRow: number): SandboxProjection => ({
  id,
  state: fact.state,
  state_cause: fact.state_cause,
  started_at: fact.started_at,
  ended_at: fact.ended_at,
  last_sandbox_seq: fact.last_sandbox_seq,
  last_row: lastRow,
  last_event_type: fact.last_event_type,
  last_event_at: fact.last_event_at,
  turn: fact.turn,
  heartbeat_count: fact.heartbeat_count,
  first_heartbeat_at: fact.first_heartbeat_at,
  last_heartbeat_at: fact.last_heartbeat_at,
  last_contact_at: fact.last_contact_at,
});

/** What was appended, and what its sandboxes' rows are from then on. */
export interface Appended {
  readonly rows: readonly EventRow[];
  readonly facts: ReadonlyMap<SandboxId, SandboxFacts>;
  /** Undefined when nothing was written. */
  readonly version: string | undefined;
}

const NOTHING: Appended = { rows: [], facts: new Map(), version: undefined };

type Plan = ReturnType<typeof plan>;

function toProjections({ facts, rows }: Plan): readonly SandboxProjection[] {
  const lastRows = new Map(rows.map((row, index) => [row.sandbox_id, index + 1]));
  return [...facts].map(([id, fact]) => toProjection(id, fact, lastRows.get(id) ?? 0));
}

function toAppended({ facts, rows }: Plan, { before, version }: { before: number; version: string }): Appended {
  rows.forEach((row, index) => {
    row.seq = before + 1 + index;
  });
  return { rows, facts, version };
}

/** Appends at the end of a transaction: all row locks are held, and from here on the append lock is too. */
export async function appendInTurn(
  tx: Db,
  deps: Pick<EventLogDeps, "ids" | "clock">,
  drafts: readonly EventDraft[],
): Promise<Appended> {
  if (drafts.length === 0) return NOTHING;
  const at = deps.clock.now();
  const planned = plan(drafts, deps.ids, at);
  // Nobody will ever read what still waits in a sandbox that has ended. Its rows are locked before the append lock.
  await followPermissions(tx, drafts);
  for (const id of planned.ended) {
    await expireMessages(tx, id);
    await closePermissions(tx, id);
  }
  return toAppended(planned, await appendRows.one(tx, toEventColumns(planned.rows, at), toProjections(planned)));
}

export const appendEvents = async (
  tx: Db,
  deps: Pick<EventLogDeps, "ids" | "clock">,
  drafts: readonly EventDraft[],
): Promise<readonly EventRow[]> => (await appendInTurn(tx, deps, drafts)).rows;

/** Appends and commits in one statement, for drafts that were made from rows as they were seen. Undefined, and nothing is written, when
 *  one of the rows has changed since, or when more than the log has to be written with it. */
export async function appendAtOnce(
  deps: Pick<EventLogDeps, "db" | "ids" | "clock" | "fault">,
  drafts: readonly EventDraft[],
  seen: readonly SeenSandbox[],
): Promise<Appended | undefined> {
  if (drafts.length === 0 || drafts.some(isPermission)) return undefined;
  const at = deps.clock.now();
  const planned = plan(drafts, deps.ids, at);
  if (planned.ended.size > 0) return undefined;
  deps.fault("ingest.before_commit");
  const found = await appendToSeen.maybe(deps.db, toEventColumns(planned.rows, at), toProjections(planned), seen);
  return found === undefined ? undefined : toAppended(planned, found);
}

/** Tells this process's subscribers, then the other replicas. Only ever called after commit. */
export function announce(deps: Pick<EventLogDeps, "bus" | "tail">, rows: readonly EventRow[]): void {
  if (rows.length === 0) return;
  const events = rows.map(toTailEvent);
  deps.tail.feed(events);
  deps.bus.publish(events);
}

export type Append = (drafts: readonly EventDraft[]) => Promise<readonly EventRow[]>;

/** Runs `fn` in a transaction. It may append once, as its last statement, because the append lock stops everybody else. */
export async function writeWithEvents<T>(deps: EventLogDeps, fn: (tx: Db, append: Append) => Promise<T>): Promise<T> {
  const rows: EventRow[] = [];
  const result = await deps.db.tx(async (tx) => {
    rows.length = 0;
    return fn(tx, async (drafts) => {
      const appended = await appendEvents(tx, deps, drafts);
      rows.push(...appended);
      return appended;
    });
  });
  announce(deps, rows);
  return result;
}
