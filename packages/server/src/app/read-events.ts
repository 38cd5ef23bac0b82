/** Readings of the log: pages by filter, and the trajectory. */
import {
  AppError,
  type AllEventsPage,
  type EventId,
  type EventPage,
  type EventQuery,
  type SandboxId,
  type Trajectory,
  type TrajectoryQuery,
} from "@drover/contract";
import {
  countEvents,
  listEvents,
  listTrajectory,
  loadEvent,
  loadHead,
  toStoredPage,
  type LogScope,
  type StoredPage,
} from "../store/events.ts";
import { loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";

const isUnfiltered = (query: EventQuery) =>
  query.event_type === undefined &&
  query.source === undefined &&
  query.after_seq === undefined &&
  query.before_seq === undefined;

/** Reading on from a number goes forward by default; everything else starts at the newest. */
const orderOf = (query: EventQuery) => query.order ?? (query.after_seq === undefined ? "desc" : "asc");

async function loadLog(deps: Deps, id: SandboxId): Promise<SandboxRow> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  return row;
}

const listPage = async (deps: Deps, scope: LogScope, query: EventQuery): Promise<StoredPage> =>
  toStoredPage(await listEvents(deps.db, scope, query, orderOf(query)), query.limit);

export async function pageSandboxEvents(deps: Deps, sandboxId: SandboxId, query: EventQuery): Promise<EventPage> {
  const scope = { sandboxId };
  const sandbox = await loadLog(deps, sandboxId);
  const { events, hasMore } = await listPage(deps, scope, query);
  const total = isUnfiltered(query) ? sandbox.last_sandbox_seq : (await countEvents.one(deps.db, scope, query)).count;
  return { events, total_count: total, sandbox_id: sandboxId, last_seq: sandbox.last_seq, has_more: hasMore };
}

export async function pageAllEvents(deps: Deps, actor: Person, query: EventQuery): Promise<AllEventsPage> {
  const scope = { projectId: actor.grant.projectId };
  const { events, hasMore } = await listPage(deps, scope, query);
  const { count } = await countEvents.one(deps.db, scope, query);
  return { events, total_count: count, last_seq: (await loadHead.one(deps.db)).seq, has_more: hasMore };
}

async function loadCursor(deps: Deps, sandboxId: SandboxId, id: EventId): Promise<number> {
  const event = await loadEvent.maybe(deps.db, sandboxId, id);
  if (event === undefined) throw new AppError("event.not_found", "the cursor is no event of this sandbox");
  return event.seq;
}

export async function readTrajectory(deps: Deps, sandboxId: SandboxId, query: TrajectoryQuery): Promise<Trajectory> {
  const listAfter = async (seq: number | null) =>
    await listTrajectory(deps.db, sandboxId, seq, query.direction, query.noise, query.limit);
  const [sandbox, found] = await Promise.all([
    loadLog(deps, sandboxId),
    query.cursor === undefined ? listAfter(null) : loadCursor(deps, sandboxId, query.cursor).then(listAfter),
  ]);
  const { events: kept, hasMore } = toStoredPage(found, query.limit);
  const events = query.direction === "older" ? kept : kept.toReversed();
  return {
    sandbox_id: sandboxId,
    events,
    heartbeat_summary: {
      count: sandbox.heartbeat_count,
      first_heartbeat: sandbox.first_heartbeat_at?.toISOString() ?? null,
      last_heartbeat: sandbox.last_heartbeat_at?.toISOString() ?? null,
    },
    total_events: sandbox.last_sandbox_seq,
    trajectory_events: events.length,
    next_cursor: hasMore ? (events.at(-1)?.id ?? null) : null,
    prev_cursor: events[0]?.id ?? null,
    has_more: hasMore,
  };
}
