/** What an agent server tells of its conversations becomes the logs of sandboxes: in order, once, and with what is missing named. */
import {
  AppError,
  ProjectId,
  TERMINAL_SANDBOX_STATES,
  toEventData,
  type JsonObject,
  type SandboxId,
} from "@drover/contract";
import {
  followConversation,
  FollowedConversation,
  OpenHandsEvent,
  startFollowing,
  type DeliveredEvent,
} from "@drover/contract/openhands";
import type { Db } from "../ports/db.ts";
import {
  countUnread,
  deleteUnread,
  ensureConversation,
  insertUnread,
  listBehind,
  listUnread,
  lockConversation,
  touchConversation,
  updateConversation,
  type ConversationRow,
} from "../store/agent-conversations.ts";
import { loadDefaultProject, loadProject } from "../store/projects.ts";
import { lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { insertSandboxRow } from "./insert-sandbox.ts";

/** Read in one transaction. */
const AT_ONCE = 500;
/** So much may wait behind a hole; more is refused until the hole is filled or given up. */
const WAITING = 20_000;
/** A run that says nothing for so long is asked after. */
const SILENT_SECONDS = 30;
const BATCH = 50;
/** Pages asked for in one pass, of each conversation. */
const PAGES = 50;
const MAKER = "agent-server";

export interface AgentEventsReceipt {
  readonly status: "received";
  readonly conversation_id: string;
  readonly sandbox_id: SandboxId | null;
  readonly accepted: number;
  readonly duplicates: number;
  /** The number that is waited for. */
  readonly next_seq: number;
  /** Numbers that are missing before what waits; null when there is no hole. */
  readonly missing: { readonly from_seq: number; readonly to_seq: number } | null;
}

async function pickOwner(deps: Deps, tx: Db): Promise<ProjectId> {
  const asked = deps.config.agentEventsProject;
  if (asked === undefined) return (await loadDefaultProject.one(tx)).id;
  const parsed = ProjectId.safeParse(asked);
  const row = parsed.success ? await loadProject.maybe(tx, parsed.data) : undefined;
  if (row === undefined) throw new AppError("project.not_found", "DROVER_AGENT_EVENTS_PROJECT names no project");
  return row.id;
}

/** The sandbox whose log the conversation is told in now; one that has ended is followed by another. */
async function ensureSandbox(
  deps: Deps,
  tx: Db,
  conversation: ConversationRow,
): Promise<{ readonly row: SandboxRow; readonly drafts: readonly EventDraft[] }> {
  const [known] = conversation.sandbox_id === null ? [] : await lockSandboxes(tx, [conversation.sandbox_id]);
  if (known !== undefined && known.closed_at === null && !TERMINAL_SANDBOX_STATES.has(known.state))
    return { row: known, drafts: [] };
  return insertSandboxRow(tx, deps, {
    createdBy: MAKER,
    source: "server",
    projectId: await pickOwner(deps, tx),
    branch: null,
    input: { provider: "external", runtime: "openhands", labels: { conversation_id: conversation.id } },
  });
}

interface Drained {
  readonly row: ConversationRow;
  readonly read: number;
  readonly missing: AgentEventsReceipt["missing"];
  readonly sandboxId: SandboxId | null;
}

const isEnd = ({ event_type }: { readonly event_type: string }) => event_type === "agent.failed";

/** One transaction: what stands next without a hole is told, up to the end of a sandbox. `skip`: the hole is given up and named. */
async function drainOnce(deps: Deps, id: string, skip: boolean): Promise<Drained> {
  return writeWithEvents(deps, async (tx, append) => {
    const row = await lockConversation.one(tx, id);
    const waiting = await listUnread(tx, id, AT_ONCE);
    const first = waiting[0]?.seq;
    const hole = first === undefined || first === row.next_seq ? null : { from_seq: row.next_seq, to_seq: first - 1 };
    if (first === undefined || (hole !== null && !skip)) {
      if (hole !== null && row.gap_since === null)
        await updateConversation(tx, id, toChange(row.sandbox_id, row, true));
      return { row, read: 0, missing: hole, sandboxId: row.sandbox_id };
    }
    const { row: sandbox, drafts: made } = await ensureSandbox(deps, tx, row);
    const lost =
      hole === null
        ? []
        : [
            draftSandboxEvent(deps.ids, sandbox, {
              eventType: "EVENTS_MISSING",
              data: { conversation_id: id, ...hole, count: hole.to_seq - hole.from_seq + 1 },
            }),
          ];
    let followed = FollowedConversation.parse(row.followed);
    let next = first;
    let lastEventId = row.last_event_id;
    const told: EventDraft[] = [];
    for (const { seq, event } of waiting) {
      if (seq !== next) break;
      const parsed = OpenHandsEvent.parse(event);
      const step = followConversation(followed, parsed, id);
      told.push(...step.events.map((one, index) => draftTold(deps, sandbox, `${seq}-${index}`, one)));
      followed = step.state;
      lastEventId = parsed.id;
      next = seq + 1;
      if (step.events.some(isEnd)) break;
    }
    await deleteUnread(tx, id, next);
    const [left] = await listUnread(tx, id, 1);
    const missing = left === undefined || left.seq === next ? null : { from_seq: next, to_seq: left.seq - 1 };
    const after = { next_seq: next, last_event_id: lastEventId, followed: followed as unknown as JsonObject };
    await updateConversation(tx, id, toChange(sandbox.id, after, missing !== null));
    await append([...made, ...lost, ...told]);
    return { row: { ...row, ...after }, read: next - first, missing, sandboxId: sandbox.id };
  });
}

const toChange = (
  sandboxId: SandboxId | null,
  after: Pick<ConversationRow, "next_seq" | "last_event_id" | "followed">,
  hasGap: boolean,
) => ({
  sandboxId,
  nextSeq: after.next_seq,
  lastEventId: after.last_event_id,
  followed: after.followed,
  isWorking: after.followed["phase"] === "working",
  hasGap,
});

const draftTold = (
  deps: Deps,
  sandbox: SandboxRow,
  place: string,
  told: { readonly event_type: string; readonly event_data: Readonly<Record<string, unknown>> },
): EventDraft => {
  const data = toEventData(told.event_data);
  return {
    id: deps.ids.event(),
    sandbox,
    projectId: sandbox.project_id,
    entityType: "sandbox",
    entityId: sandbox.id,
    eventType: told.event_type,
    data,
    dataText: JSON.stringify(data),
    source: "agent",
    clientEventId: `conversation-${place}`,
    generation: sandbox.generation,
    causedBy: null,
    isFollowed: true,
  };
};

/** Until nothing more stands without a hole. Each step makes progress, so that it ends. */
async function drain(deps: Deps, id: string): Promise<Drained> {
  for (;;) {
    const drained = await drainOnce(deps, id, false);
    if (drained.read === 0) return drained;
  }
}

async function keep(deps: Deps, id: string, events: readonly DeliveredEvent[]): Promise<number> {
  const unique = [...new Map(events.toReversed().map((event) => [event.seq, event])).values()];
  return deps.db.tx(async (tx) => {
    await ensureConversation(tx, id, startFollowing() as unknown as JsonObject);
    const row = await lockConversation.one(tx, id);
    if ((await countUnread.one(tx, id)).count + unique.length > WAITING)
      throw new AppError("request.rate_limited", "too many events wait for one that is missing");
    const kept = unique.map(({ seq, ...event }) => ({ seq, event: toEventData(event) }));
    return (await insertUnread(tx, id, row.next_seq, kept)).length;
  });
}

/** Its signature has been checked. Answered when everything is stored: told in the log, or waiting for what is missing. */
export async function receiveAgentEvents(
  deps: Deps,
  { conversation_id: id, events }: { readonly conversation_id: string; readonly events: readonly DeliveredEvent[] },
): Promise<AgentEventsReceipt> {
  const accepted = await keep(deps, id, events);
  const { row, missing, sandboxId } = await drain(deps, id);
  if (missing !== null) deps.wake("follow-conversations");
  return {
    status: "received",
    conversation_id: id,
    sandbox_id: sandboxId,
    accepted,
    duplicates: events.length - accepted,
    next_seq: row.next_seq,
    missing,
  };
}

/** Asks the agent server for what stands after the last event that was read. How many came. */
async function fetchMissing(
  deps: Deps,
  behind: { readonly id: string; readonly last_event_id: string | null; readonly next_seq: number },
  signal: AbortSignal,
): Promise<number> {
  let after = behind.last_event_id;
  let seq = behind.next_seq;
  for (let page = 0; page < PAGES && deps.conversations !== undefined; page += 1) {
    const found = await deps.conversations.listAfter(behind.id, after, signal);
    const events = (found ?? []).map((one) => OpenHandsEvent.parse(one));
    if (events.length === 0) break;
    const from = seq;
    await keep(
      deps,
      behind.id,
      events.map((event, index) => ({ ...event, seq: from + index })),
    );
    seq += events.length;
    after = events.at(-1)?.id ?? after;
    await drain(deps, behind.id);
  }
  return seq - behind.next_seq;
}

/** Looks after conversations with a hole, and after those that fell silent at work. Safe on every replica: rows are locked where they change. */
export async function followConversationsOnce(
  deps: Deps,
  signal: AbortSignal,
): Promise<{ fetched: number; given_up: number }> {
  let fetched = 0;
  let given_up = 0;
  for (const behind of await listBehind(deps.db, SILENT_SECONDS, BATCH)) {
    try {
      const found = await fetchMissing(deps, behind, signal);
      fetched += found;
      if (behind.gap_s === null) await touchConversation(deps.db, behind.id);
      if (found > 0) continue;
    } catch (error) {
      // Expected: the agent server is away, or says something else than events. What is missing is then waited for.
      deps.log.warn("agent_events.fetch_failed", { conversation: behind.id, reason: String(error) });
    }
    if (behind.gap_s === null || behind.gap_s < deps.config.agentEventsGapSeconds) continue;
    await drainOnce(deps, behind.id, true);
    await drain(deps, behind.id);
    given_up += 1;
  }
  return { fetched, given_up };
}
