/** Runs an agent and records what it does: each step is on disk before much more happens. */
import { type NewEvent, toEventData } from "@drover/contract";
import { type Activity, foldActivity } from "./activity.ts";
import type { AgentEnd, AgentEvent, AgentSession, AgentStep, WorkOrder } from "./agent-runtime.ts";
import type { Clock } from "./clock.ts";
import type { Fault } from "./fault.ts";
import { toInjectedNotes } from "./inbox.ts";
import type { Notes } from "./outbox-log.ts";
import type { Outbox } from "./outbox.ts";
import { toProcessing } from "./agents/heard.ts";
import { createBoundaries } from "./boundary.ts";
import { fillEvent } from "./fill-event.ts";
import type { Transcript } from "./transcript.ts";
import { CHECKPOINT_NOTE, toCheckpointNote } from "./watch-workspace.ts";

/** Steps that may be on their way to the disk at once: enough to share fsyncs, few enough to redo after a death. */
const WINDOW = 64;

export interface DriveParts {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly fault: Fault;
  /** Receipts were noted. */
  readonly onOwed: () => void;
  /** What changed in the workspace; asked when a tool or a turn has ended, before that is recorded. */
  readonly atBoundary: WorkOrder["atBoundary"];
  readonly transcript: Transcript;
  /** What the work came to so far; told when it ends. */
  readonly describeWork: () => Promise<Readonly<Record<string, unknown>>>;
}

const toEvent = (event: AgentStep["events"][number]): NewEvent => ({
  event_type: event.event_type,
  source: event.source ?? "agent",
  event_data: toEventData(event.event_data),
});

/** Noted while the work is over and nothing new was asked for. */
export const SETTLED = "settled";

function toSettled(events: AgentStep["events"]): Notes {
  const types = new Set(events.map((event) => event.event_type));
  if (types.has("agent.completed") || types.has("agent.failed")) return { [SETTLED]: true };
  return types.has("agent.message_injected") ? { [SETTLED]: null } : {};
}

function toCheckpointed(events: AgentStep["events"]): Notes {
  const last = events.findLast((event) => event.event_type === "workspace.checkpoint");
  return last === undefined ? {} : { [CHECKPOINT_NOTE]: toCheckpointNote(last) };
}

/** How many messages the agent was given, over all lives of the worker. */
const INJECTIONS = "injections";

function toInjectionNote(events: AgentStep["events"]): Notes {
  const last = events.findLast((event) => event.event_type === "agent.message_injected");
  return last === undefined ? {} : { [INJECTIONS]: Number(last.event_data["intervention_number"]) };
}

function toNotes({ events, mark, receipt }: AgentStep): Notes {
  const { turn = 0, detail } = receipt ?? {};
  return {
    ...toSettled(events),
    ...toCheckpointed(events),
    ...toInjectionNote(events),
    ...(mark === undefined ? {} : { mark }),
    ...(receipt === undefined
      ? {}
      : toInjectedNotes(receipt.messageId, receipt.status, { turn, ...(detail === undefined ? {} : { detail }) })),
  };
}

export function startAgent(
  parts: DriveParts,
  session: AgentSession,
): { readonly done: Promise<AgentEnd>; readonly getActivity: () => Activity; readonly getTurn: () => number } {
  const { outbox, clock } = parts;
  let activity: Activity = { status: "running", tools: [] };
  let turn = 0;
  let injections = Number(outbox.getNote(INJECTIONS) ?? 0);
  const boundaries = createBoundaries();

  const addTo = async (event: AgentEvent): Promise<readonly AgentEvent[]> => {
    const { event_type, event_data } = event;
    if (event_type === "agent.message_injected")
      return [
        { event_type, event_data: { ...event_data, intervention_number: (injections += 1) } },
        toProcessing(event),
      ];
    if (event_type !== "agent.completed" && event_type !== "agent.failed") return [event];
    return [{ event_type, event_data: { ...event_data, ...(await parts.describeWork()) } }];
  };

  /** Whatever runtime it is: changes stand in front of the end of what made them, and the memory of it behind. */
  const complete = async (step: AgentStep): Promise<AgentStep> => {
    const events: AgentEvent[] = [];
    let isTurnOver = false;
    for (const event of step.events) {
      if (typeof event.event_data["turn"] === "number") turn = event.event_data["turn"];
      const at = boundaries.follow(event);
      if (at !== undefined) events.push(...(await parts.atBoundary(at)));
      if (at?.kind === "turn") isTurnOver = true;
      events.push(...(await addTo(event)).map(fillEvent));
    }
    const isChanged = events.some(({ event_type }) => event_type === "workspace.checkpoint");
    if (isTurnOver) events.push(...(await parts.transcript.save(turn, "still")));
    if (isTurnOver || isChanged) events.push(...parts.transcript.saveMark(turn, step));
    return { ...step, events };
  };

  const record = async (step: AgentStep) => {
    await outbox.append(step.events.map(toEvent), toNotes(step));
    if (step.receipt === undefined) return;
    parts.fault("inbox.injected");
    parts.onOwed();
  };

  const run = async (): Promise<AgentEnd> => {
    const underWay = new Set<Promise<void>>();
    let failure: Error | undefined;
    for (;;) {
      const next = await session.steps.next();
      if (next.done === true) {
        await Promise.all(underWay);
        return next.value;
      }
      for (const event of next.value.events) activity = foldActivity(activity, event, clock.now());
      const recorded = record(await complete(next.value))
        .catch((error: Error) => (failure ??= error)) // the journal was closed over us
        .then(() => void underWay.delete(recorded));
      underWay.add(recorded);
      if (next.value.isBarrier === true) await Promise.all(underWay);
      while (underWay.size >= WINDOW) await Promise.race(underWay);
      if (failure !== undefined) return { reason: "failed", detail: failure.message, turns: 0 };
    }
  };

  return { done: run(), getActivity: () => activity, getTurn: () => turn };
}
