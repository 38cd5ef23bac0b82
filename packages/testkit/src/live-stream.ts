/** A client of the live stream that keeps every frame and lets a test wait for one. */
import type { EventFrame, ServerFrame } from "@drover/contract";
import WebSocket from "ws";

export interface StreamOptions {
  readonly query?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent in the same moment in which the socket opens. */
  readonly firstFrames?: readonly unknown[];
}

export interface LiveStream {
  /** Everything received so far. */
  readonly frames: readonly ServerFrame[];
  readonly socket: WebSocket;
  /** The events among the frames. */
  events(): readonly EventFrame[];
  /** The next frame that fits, after the one that the last call returned. */
  next(fits: (frame: ServerFrame) => boolean): Promise<ServerFrame>;
  /** Resolves when the frames received so far make it true. */
  until(isTrue: (frames: readonly ServerFrame[]) => boolean): Promise<void>;
  /** Text is sent as it is, anything else as JSON. */
  send(frame: unknown): void;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  close(): void;
}

export const isEvent = (frame: ServerFrame): frame is EventFrame => "type" in frame && frame.type === "event";
export const isSync = (frame: ServerFrame): boolean => "type" in frame && frame.type === "sync";

/** Resolves when the socket is open: the server always accepts, and says afterwards what it thinks of the credential. */
export async function openLiveStream(url: string, options: StreamOptions): Promise<LiveStream> {
  const address = new URL(url);
  for (const [name, value] of Object.entries(options.query ?? {})) address.searchParams.set(name, String(value));
  const socket = new WebSocket(address, { headers: { ...options.headers }, perMessageDeflate: false });
  const frames: ServerFrame[] = [];
  const waiters = new Set<() => void>();
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  let end: { code: number; reason: string } | undefined;
  let position = 0;
  const wake = () => {
    for (const waiter of waiters) waiter();
  };
  const send = (frame: unknown) => socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));

  socket.on("message", (data: Buffer) => {
    frames.push(JSON.parse(data.toString("utf8")) as ServerFrame);
    wake();
  });
  socket.on("close", (code, reason) => {
    end = { code, reason: reason.toString("utf8") };
    closed.resolve(end);
    wake();
  });

  const look = <T>(find: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const waiter = () => {
        const found = find();
        if (found === undefined && end === undefined) return;
        waiters.delete(waiter);
        if (found !== undefined) resolve(found);
        else reject(new Error(`the stream was closed (${end?.code} ${end?.reason}) before the awaited frame came`));
      };
      waiters.add(waiter);
      waiter();
    });

  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("open", () => {
      for (const frame of options.firstFrames ?? []) send(frame);
      resolve();
    });
  });
  socket.on("error", () => undefined);

  return {
    frames,
    socket,
    closed: closed.promise,
    send,
    events: () => frames.filter(isEvent),
    next: (fits) =>
      look(() => {
        while (position < frames.length) {
          const frame = frames[position++];
          if (frame !== undefined && fits(frame)) return frame;
        }
        return undefined;
      }),
    until: (isTrue) => look(() => (isTrue(frames) ? true : undefined)).then(() => undefined),
    close: () => socket.terminate(),
  };
}
