/** One request to the other Drover: a WebSocket that carries it, its bytes both ways, and its end. */
import { WebSocket } from "ws";
import {
  AppError,
  ERRORS,
  HOSTED_FRAME_LIMIT_BYTES,
  HOSTED_PATH,
  HOSTED_STREAM,
  HostedAnswer,
  type ErrorCode,
  type HostedInput,
  type HostedRequest,
} from "@drover/contract";
import { createEventQueue } from "../daytona/event-queue.ts";

export interface RemoteOptions {
  /** Of the other Drover. */
  readonly url: string;
  readonly token: string;
}

export interface RemoteBytes {
  readonly stream: "stdout" | "stderr";
  readonly chunk: Uint8Array;
}

export interface RemoteCall {
  /** What comes before the result, in order; ends with it or throws what was refused. */
  readonly bytes: AsyncIterable<RemoteBytes>;
  /** Resolves with the result's value. */
  readonly result: Promise<unknown>;
  /** Resolves when the other side says that it is ready. */
  readonly ready: Promise<void>;
  send(bytes: Uint8Array): void;
  /** Resolves when what was sent has left, or cannot any more. */
  drained(): Promise<void>;
  say(input: HostedInput): void;
  close(): void;
}

const HANDSHAKE_MS = 20_000;
const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
/** Beyond this the reader is slower than the command: the connection is not read until it has caught up. */
const UNREAD_LIMIT_BYTES = 8 * 1024 * 1024;

/** Refusals that mean the same to our caller; every other one is the other Drover's trouble. */
const PASSED: ReadonlySet<string> = new Set([
  "sandbox.rejected",
  "sandbox.unavailable",
  "file.not_found",
  "port.not_answering",
]);

function toRefusal(code: string, message: string): AppError {
  if (PASSED.has(code)) return new AppError(code as ErrorCode, message);
  const kind = code in ERRORS && ERRORS[code as ErrorCode].status < 500 ? "sandbox.rejected" : "sandbox.unavailable";
  return new AppError(kind, `the other Drover: ${message}`);
}

/** The token goes in a header: it is in no address, no log and no sandbox. */
export function dial({ url, token }: RemoteOptions, query: Readonly<Record<string, string>> = {}): WebSocket {
  const address = new URL(`${HOSTED_PATH}?${new URLSearchParams(query)}`, url.replace(/^http/, "ws"));
  return new WebSocket(address, {
    headers: { authorization: `Bearer ${token}` },
    handshakeTimeout: HANDSHAKE_MS,
    perMessageDeflate: false,
    maxPayload: ANSWER_LIMIT_BYTES,
  });
}

const NAMES = new Map<number, RemoteBytes["stream"]>([
  [HOSTED_STREAM.stdout, "stdout"],
  [HOSTED_STREAM.stderr, "stderr"],
]);

export function openCall(options: RemoteOptions, request: HostedRequest, signal: AbortSignal): RemoteCall {
  signal.throwIfAborted();
  const socket = dial(options);
  const queue = createEventQueue<RemoteBytes>();
  const result = Promise.withResolvers<unknown>();
  const ready = Promise.withResolvers<void>();
  let unread = 0;
  const fail = (error: Error) => {
    result.reject(error);
    ready.reject(error);
    queue.end(error);
  };
  // Whoever does not wait for one of them learns it from another.
  result.promise.catch(() => undefined);
  ready.promise.catch(() => undefined);
  const hangUp = () => {
    fail(signal.reason instanceof Error ? signal.reason : new AppError("sandbox.unavailable", "cancelled"));
    socket.terminate();
  };
  signal.addEventListener("abort", hangUp, { once: true });

  const waiting: (Uint8Array | string)[] = [JSON.stringify(request)];
  const send = (frame: Uint8Array | string) => {
    if (socket.readyState === WebSocket.CONNECTING) waiting.push(frame);
    else if (socket.readyState === WebSocket.OPEN) socket.send(frame);
  };
  socket.once("open", () => {
    for (const frame of waiting.splice(0)) socket.send(frame);
  });
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) {
      const chunk = Uint8Array.from(data.subarray(1));
      const stream = NAMES.get(data[0] ?? 0);
      if (stream === undefined) return;
      unread += chunk.length;
      if (unread > UNREAD_LIMIT_BYTES) socket.pause();
      return queue.push({ stream, chunk });
    }
    const answer = HostedAnswer.safeParse(JSON.parse(data.toString("utf8"))).data;
    if (answer?.type === "ready") ready.resolve();
    if (answer?.type === "refused") fail(toRefusal(answer.code, answer.message));
    if (answer?.type === "result") {
      result.resolve(answer.value);
      queue.end();
    }
  });
  socket.once("error", (cause) =>
    fail(new AppError("sandbox.unavailable", `the other Drover does not answer: ${cause.message}`, { cause })),
  );
  socket.once("close", () => {
    signal.removeEventListener("abort", hangUp);
    fail(new AppError("sandbox.unavailable", "the other Drover hung up"));
  });

  const read = async function* (): AsyncGenerator<RemoteBytes> {
    for await (const item of queue) {
      yield item;
      unread -= item.chunk.length;
      if (unread <= UNREAD_LIMIT_BYTES && socket.isPaused) socket.resume();
    }
  };
  return {
    bytes: read(),
    result: result.promise,
    ready: ready.promise,
    send: (bytes) => {
      for (let start = 0; start < bytes.length; start += HOSTED_FRAME_LIMIT_BYTES)
        send(bytes.subarray(start, start + HOSTED_FRAME_LIMIT_BYTES));
    },
    drained: () =>
      new Promise((resolve) => {
        if (socket.readyState !== WebSocket.OPEN || socket.bufferedAmount === 0) return resolve();
        socket.ping(undefined, undefined, () => resolve());
      }),
    say: (input) => send(JSON.stringify(input)),
    close: () => socket.terminate(),
  };
}

/** A request that is answered by its result alone. */
export async function ask<T>(
  options: RemoteOptions,
  request: HostedRequest,
  schema: { parse(value: unknown): T },
  signal: AbortSignal,
  input?: Uint8Array,
): Promise<T> {
  const call = openCall(options, request, signal);
  if (input !== undefined) {
    call.send(input);
    call.say({ type: "end" });
  }
  try {
    return schema.parse(await call.result);
  } finally {
    call.close();
  }
}
