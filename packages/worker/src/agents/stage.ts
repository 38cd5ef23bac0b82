/** What every step of a scripted agent needs: where it is, who may speak to it, and how it says something. */
import type { Json } from "@drover/contract";
import type { AgentEvent, AgentStep, Receipt, WorkOrder } from "../agent-runtime.ts";
import type { Mailbox } from "./mailbox.ts";
import { advance, type Place } from "./place.ts";
import type { PlainStep } from "./script.ts";
import { fillTemplate } from "./unroll.ts";

/** How a step ended. `listen`: it waited for a message, which may now be answered. */
export type Outcome = "done" | "interrupted" | "closed" | "failed" | "listen";
export type Playing = AsyncGenerator<AgentStep, Outcome>;

/** Plays one kind of step. */
export type Play<S extends PlainStep> = (stage: Stage, step: S) => Playing;

const RESULT_CHARACTERS = 5_000;

export interface Stage {
  readonly order: WorkOrder;
  readonly place: Place;
  readonly mailbox: Mailbox;
  readonly signal: AbortSignal;
  readonly die: () => void;
  round: number;
}

export const say = (stage: Stage, type: string, data: Readonly<Record<string, unknown>>): AgentEvent => ({
  event_type: type,
  event_data: { turn: stage.place.turn, ...data },
});

/** The place is copied: it goes on changing while the record is on its way to the disk. */
export const record = (
  stage: Stage,
  events: readonly AgentEvent[],
  more: { receipt?: Receipt; isBarrier?: true } = {},
): AgentStep => ({
  events,
  mark: structuredClone(stage.place) as Json,
  ...more,
});

/** Records the last events of a step. */
export function finish(stage: Stage, events: readonly AgentEvent[]): AgentStep {
  advance(stage.place);
  return record(stage, events);
}

export const fill = (stage: Stage, text: string): string =>
  fillTemplate(text, {
    prompt: stage.order.prompt,
    message: stage.place.answer?.content ?? "",
    round: String(stage.round + 1),
    turn: String(stage.place.turn),
  });

export function fillDeep<T>(stage: Stage, value: T): T {
  if (typeof value === "string") return fill(stage, value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => fillDeep(stage, item)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillDeep(stage, item)])) as T;
}

export function openTool(stage: Stage, tool: string): string {
  stage.place.toolCount += 1;
  const id = `tool-${stage.place.run}-${stage.place.toolCount}`;
  stage.place.open = { id, tool };
  return id;
}

export interface ToolResult {
  readonly text: string;
  readonly isError: boolean;
  readonly durationMs: number;
  readonly more?: Readonly<Record<string, unknown>>;
}

export function closeTool(stage: Stage, id: string, tool: string, result: ToolResult): AgentEvent {
  delete stage.place.open;
  return say(stage, "agent.tool_result", {
    tool,
    tool_use_id: id,
    result: result.text.slice(0, RESULT_CHARACTERS),
    result_truncated: result.text.length > RESULT_CHARACTERS,
    result_full_length: result.text.length,
    is_error: result.isError,
    duration_ms: Math.round(result.durationMs),
    ...result.more,
  });
}

/** While an answer is given only an interrupt is heard; further messages wait for its end. */
export const listen = (stage: Stage, isBetweenTurns: boolean): AbortSignal =>
  stage.place.answer === undefined ? stage.mailbox.arrival(isBetweenTurns) : stage.mailbox.interruption();

/** Sleeps until the time is over, or `wake`, or the end. */
export async function pause(stage: Stage, seconds: number, wake: AbortSignal): Promise<void> {
  if (seconds > 0) await stage.order.clock.sleep(seconds * 1_000, AbortSignal.any([stage.signal, wake]));
}

/** What a pause was cut short by, if by anything that ends the step. */
export const whatStopped = (stage: Stage): "interrupted" | "closed" | undefined =>
  stage.signal.aborted ? "closed" : stage.mailbox.hasInterrupt() ? "interrupted" : undefined;
