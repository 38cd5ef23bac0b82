/** The server's side of a control connection to a sandbox's supervisor. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import {
  AppError,
  CONTROL_FRAME,
  CONTROL_FRAME_LIMIT_BYTES,
  CONTROL_HEADER_BYTES,
  ControlExit,
  ControlRefusal,
  type ControlRequest,
} from "@drover/contract";
import type { Place } from "./places.ts";
import { toSeenRequest } from "./seen-paths.ts";

export interface ControlFrame {
  readonly type: number;
  readonly bytes: Buffer;
}

export interface ControlCall {
  /** Frames until the connection ends. */
  readonly frames: AsyncIterable<ControlFrame>;
  send(type: number, bytes: Uint8Array): void;
  /** Until what was sent is on its way; false when nobody takes anything any more. */
  drained(): Promise<boolean>;
  close(): void;
}

const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;
const MESSAGE_CHARACTERS = 500;

const encode = (type: number, bytes: Uint8Array): Buffer => {
  const head = Buffer.allocUnsafe(CONTROL_HEADER_BYTES);
  head[0] = type;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
};

async function* readFrames(socket: Socket): AsyncGenerator<ControlFrame> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= CONTROL_HEADER_BYTES) {
      const size = rest.readUInt32BE(1);
      if (size > CONTROL_FRAME_LIMIT_BYTES)
        throw new AppError("sandbox.unavailable", "the supervisor sent a frame that is too large");
      if (rest.length < CONTROL_HEADER_BYTES + size) break;
      yield { type: rest[0] ?? 0, bytes: rest.subarray(CONTROL_HEADER_BYTES, CONTROL_HEADER_BYTES + size) };
      rest = rest.subarray(CONTROL_HEADER_BYTES + size);
    }
  }
}

export function openControl(place: Place, request: ControlRequest, signal: AbortSignal): ControlCall {
  const socket = connect({ path: place.control });
  const hangUp = () => socket.destroy(new AppError("sandbox.unavailable", "the request was cancelled"));
  signal.addEventListener("abort", hangUp, { once: true });
  socket.once("close", () => signal.removeEventListener("abort", hangUp));
  // Reading reports it; an error before anybody reads must not end the process.
  socket.on("error", () => undefined);
  socket.write(encode(CONTROL_FRAME.request, Buffer.from(JSON.stringify(toSeenRequest(place, request)))));
  if (signal.aborted) hangUp();
  return {
    frames: readFrames(socket),
    send: (type, bytes) => void socket.write(encode(type, bytes)),
    drained: async () => {
      // Expected: it hangs up instead, which reading reports.
      if (socket.writableNeedDrain && !socket.destroyed)
        await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => undefined);
      return !socket.destroyed;
    },
    close: () => socket.destroy(),
  };
}

/** Refusals of the supervisor that are the caller's doing. */
const REFUSAL: Readonly<Record<string, "file.not_found" | "port.not_answering">> = {
  ECONNREFUSED: "port.not_answering",
  ENOENT: "file.not_found",
  ENOTDIR: "file.not_found",
};

/** What comes out of a sandbox is a claim: whatever it is, it is not our failure. */
export function parseClaim<T>(schema: { parse(value: unknown): T }, bytes: Uint8Array): T {
  try {
    return schema.parse(JSON.parse(Buffer.from(bytes).toString("utf8")));
  } catch (cause) {
    throw new AppError("sandbox.unavailable", "the supervisor answers nonsense", { cause });
  }
}

export function parseRefusal(bytes: Buffer): AppError {
  const { code, message } = parseClaim(ControlRefusal, bytes);
  return new AppError(REFUSAL[code] ?? "sandbox.rejected", message.slice(0, MESSAGE_CHARACTERS));
}

export const parseExit = (bytes: Buffer): ControlExit => parseClaim(ControlExit, bytes);

export interface CallOptions {
  readonly input?: Uint8Array;
  /** More than this is not taken, whatever the other side was told. */
  readonly limitBytes?: number;
}

/** Runs a request to its end and returns what it wrote to standard output. */
export async function callControl(
  place: Place,
  request: ControlRequest,
  signal: AbortSignal,
  { input, limitBytes = ANSWER_LIMIT_BYTES }: CallOptions = {},
): Promise<Buffer> {
  const call = openControl(place, request, signal);
  if (input !== undefined) {
    for (let start = 0; start < input.length; start += CONTROL_FRAME_LIMIT_BYTES) {
      call.send(CONTROL_FRAME.stdin, input.subarray(start, start + CONTROL_FRAME_LIMIT_BYTES));
    }
    call.send(CONTROL_FRAME.stdinEnd, new Uint8Array());
  }
  const out: Buffer[] = [];
  let size = 0;
  try {
    for await (const frame of call.frames) {
      if (frame.type === CONTROL_FRAME.stdout) {
        size += frame.bytes.length;
        if (size > limitBytes) throw new AppError("sandbox.rejected", `the answer has more than ${limitBytes} bytes`);
        out.push(frame.bytes);
      }
      if (frame.type === CONTROL_FRAME.refused) throw parseRefusal(frame.bytes);
      if (frame.type === CONTROL_FRAME.exit) {
        parseExit(frame.bytes);
        return Buffer.concat(out);
      }
    }
  } catch (error) {
    // Expected: the sandbox is gone (connection refused or reset), or it refused.
    if (error instanceof AppError) throw error;
    throw new AppError("sandbox.unavailable", "the sandbox does not answer", { cause: error });
  } finally {
    call.close();
  }
  throw new AppError("sandbox.unavailable", "the sandbox ended while it was asked");
}
