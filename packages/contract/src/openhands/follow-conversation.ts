/** Follows a conversation event by event, and says what a worker of ours would have said. */
import { z } from "zod";
import { createOpenHandsNarrator, type ToldEvent } from "./narrate-openhands.ts";
import { type OpenHandsEvent, toSpent } from "./openhands-event.ts";

const OpenAction = z.object({
  key: z.string(),
  id: z.string(),
  tool: z.string(),
  input: z.record(z.string(), z.unknown()),
  startedMs: z.number(),
});

/** All that has to be remembered between two events; JSON, so that it can be kept. */
export const FollowedConversation = z.object({
  turn: z.number(),
  phase: z.enum(["new", "working", "idle"]),
  open: z.array(OpenAction),
  lastText: z.string(),
  failure: z.string().nullable(),
  spent: z
    .object({
      costUsd: z.number(),
      inputTokens: z.number(),
      outputTokens: z.number(),
      cacheReadTokens: z.number(),
      cacheWriteTokens: z.number(),
    })
    .nullable(),
});
export type FollowedConversation = z.infer<typeof FollowedConversation>;

export const startFollowing = (): FollowedConversation => ({
  turn: 0,
  phase: "new",
  open: [],
  lastText: "",
  failure: null,
  spent: null,
});

const toMs = ({ timestamp }: OpenHandsEvent): number => {
  const ms = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isFinite(ms) ? ms : 0;
};

/** Ends of a run, by what the server calls them. */
export function toLifecycle(
  status: unknown,
): "working" | "completed" | "failed" | "interrupted" | "asking" | undefined {
  switch (status) {
    case "running":
      return "working";
    case "finished":
      return "completed";
    case "error":
    case "stuck":
      return "failed";
    case "paused":
      return "interrupted";
    case "waiting_for_confirmation":
      return "asking";
    default:
      return undefined;
  }
}

const toMessageText = ({ llm_message: message }: OpenHandsEvent): string =>
  (message?.content ?? []).map(({ text }) => text ?? "").join("");

interface Step {
  readonly state: FollowedConversation;
  readonly events: readonly ToldEvent[];
}

type Say = (type: string, data: Readonly<Record<string, unknown>>) => ToldEvent;

function toCompleted(say: Say, id: string, state: FollowedConversation): ToldEvent {
  const { spent } = state;
  return say("agent.completed", {
    success: true,
    turns: state.turn,
    stop_reason: "end_turn",
    session_id: id,
    cost_usd: spent?.costUsd ?? null,
    input_tokens: spent?.inputTokens ?? null,
    output_tokens: spent?.outputTokens ?? null,
    cache_read_tokens: spent?.cacheReadTokens ?? null,
    cache_write_tokens: spent?.cacheWriteTokens ?? null,
    final_output: state.lastText,
  });
}

/** The run has ended in some way, begins, or asks. */
function followStatus(
  state: FollowedConversation,
  event: OpenHandsEvent,
  id: string,
  left: () => readonly ToldEvent[],
): Step {
  const lifecycle = toLifecycle(event.value);
  const say: Say = (type, data) => ({ event_type: type, event_data: { turn: state.turn, ...data } });
  const ended: FollowedConversation = { ...state, phase: "idle", open: [], failure: null };
  if (lifecycle === "working")
    return {
      state: state.phase === "working" ? state : { ...state, phase: "working", turn: state.turn + 1 },
      events: [],
    };
  if (lifecycle === "asking")
    return { state, events: [say("agent.waiting", { message: "Waiting for a confirmation at the agent server." })] };
  if (lifecycle === undefined || state.phase !== "working") return { state, events: [] };
  if (lifecycle === "completed")
    return {
      state: ended,
      events: [...left(), toCompleted(say, id, state), say("agent.waiting", { message: "Waiting for messages." })],
    };
  if (lifecycle === "interrupted")
    return { state: ended, events: [...left(), say("agent.interrupted", { reason: "paused", was_running: true })] };
  const error = state.failure ?? (event.value === "stuck" ? "the agent is stuck" : "the run has failed");
  return { state: ended, events: [...left(), say("agent.failed", { error })] };
}

/** `id` is the conversation's. Pure: the same events from the same state say the same. */
export function followConversation(before: FollowedConversation, event: OpenHandsEvent, id: string): Step {
  let { turn } = before;
  const narrator = createOpenHandsNarrator(
    () => turn,
    () => toMs(event),
    before.open,
  );
  const started: readonly ToldEvent[] =
    before.phase === "new"
      ? [
          {
            event_type: "agent.started",
            event_data: { turn: 0, sdk: "openhands", session_id: id, task: toMessageText(event).slice(0, 2_000) },
          },
        ]
      : [];
  const state: FollowedConversation = before.phase === "new" ? { ...before, phase: "idle" } : before;
  if (event.kind === "ConversationStateUpdateEvent") {
    if (event.key === "stats")
      return { state: { ...state, spent: toSpent(event.value) ?? state.spent }, events: started };
    if (event.key !== "execution_status") return { state, events: started };
    const step = followStatus(state, event, id, () => narrator.finish("It did not end before the turn did."));
    return { ...step, events: [...started, ...step.events] };
  }
  if (event.kind === "MessageEvent" && event.source !== "agent" && event.llm_message?.role !== "assistant") {
    const content = toMessageText(event);
    // It begins a turn, or joins the one that runs.
    turn = state.phase === "working" ? turn : turn + 1;
    const said = { turn, message_id: event.id, message_type: "user_message", content, content_length: content.length };
    return { state, events: [...started, { event_type: "agent.message_injected", event_data: said }] };
  }
  const failure =
    event.kind === "ConversationErrorEvent"
      ? [event.code, event.detail].filter((part) => part !== undefined).join(": ")
      : state.failure;
  const told = narrator.tell(event);
  return {
    state: {
      ...state,
      failure,
      open: narrator.listOpen().map((action) => ({ ...action, input: { ...action.input } })),
      lastText: narrator.lastText === "" ? state.lastText : narrator.lastText,
    },
    events: [...started, ...told],
  };
}
