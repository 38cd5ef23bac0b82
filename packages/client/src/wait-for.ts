/** Waits for a fact: the first event of a sandbox that matches, also when it has already happened. */
import { toUpperForm, type EventFrame } from "@drover/contract";
import { ClientError } from "./client-error.ts";
import { iterateEvents, type StreamOpener } from "./event-iterable.ts";
import type { Timers } from "./timers.ts";

export type EventPredicate = (event: EventFrame) => boolean;

export interface WaitOptions {
  /** Only events after this seq count; 0, all of the log, unless given. */
  readonly afterSeq?: number;
  /** 30 s unless given. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A type may be given as stored, as published, or in its upper-case form. */
const toPredicate = (type: string): EventPredicate => {
  const upper = toUpperForm(type);
  return (event) =>
    [event.event_type, event.payload["original_event_type"]].some(
      (name) => typeof name === "string" && toUpperForm(name) === upper,
    );
};

export async function waitFor(
  open: StreamOpener,
  timers: Timers,
  sandboxId: string,
  what: string | EventPredicate,
  options: WaitOptions = {},
): Promise<EventFrame> {
  const { afterSeq = 0, timeoutMs = 30_000, signal } = options;
  signal?.throwIfAborted();
  const matches = typeof what === "string" ? toPredicate(what) : what;
  const late = new AbortController();
  const cancel = timers.after(timeoutMs, () => late.abort());
  const ended = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
  try {
    const filter = { entity_types: ["sandbox"], entity_ids: [sandboxId] };
    for await (const event of iterateEvents(open, { filter, afterSeq, signal: ended })) {
      if (matches(event)) return event;
    }
  } finally {
    cancel();
  }
  signal?.throwIfAborted();
  const wanted = typeof what === "string" ? what : "an event that matches";
  throw new ClientError("client.timed_out", `${sandboxId} had no ${wanted} within ${timeoutMs} ms`);
}
