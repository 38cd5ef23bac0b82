/** The live stream as an async iterable: every matching event once, in order, through any number of reconnects. */
import type { EventFilter, EventFrame } from "@drover/contract";
import { ClientError } from "./client-error.ts";
import type { EventStream, EventStreamOptions } from "./event-stream.ts";

export interface EventsOptions {
  readonly filter?: EventFilter;
  /** Start after this seq; 0 replays everything, absent means from now on. */
  readonly afterSeq?: number;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal;
}

export type StreamOpener = (options: Omit<EventStreamOptions, "address" | "token" | "WebSocket">) => EventStream;

export async function* iterateEvents(
  open: StreamOpener,
  options: EventsOptions,
): AsyncGenerator<EventFrame, void, undefined> {
  const { signal } = options;
  let batch: readonly EventFrame[] = [];
  let taken = Promise.withResolvers<void>();
  let bell = Promise.withResolvers<void>();
  const ring = () => bell.resolve();

  const isOver = () => signal?.aborted === true;

  if (isOver()) return;
  const stream = open({
    filter: options.filter,
    afterSeq: options.afterSeq,
    // The promise holds back the stream, and so the server, until the consumer has taken this batch.
    onBatch: (frames) => {
      batch = frames;
      taken = Promise.withResolvers<void>();
      ring();
      return taken.promise;
    },
    onState: ring,
  });
  signal?.addEventListener("abort", ring, { once: true });
  try {
    while (!isOver()) {
      bell = Promise.withResolvers<void>();
      const ready = batch;
      batch = [];
      for (const event of ready) {
        if (isOver()) return;
        yield event;
      }
      if (ready.length > 0) taken.resolve();
      if (stream.state.phase === "unauthenticated")
        throw new ClientError("auth.required", "the stream needs a valid credential", { status: 401 });
      if (stream.state.phase === "forbidden")
        throw new ClientError("auth.forbidden", "the credential does not allow this stream", { status: 403 });
      await bell.promise;
    }
  } finally {
    signal?.removeEventListener("abort", ring);
    stream.close();
  }
}
