/** The server's side of a control connection to a sandbox's supervisor. */
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

export interface ControlFrame {
  readonly type: number;
  readonly bytes: Buffer;
}

export interface ControlCall {
  /** Frames until the connection ends. */
  readonly frames: AsyncIterable<ControlFrame>;
  send(type: number, bytes: Uint8Array): void;
  close(): void;
}

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

export function openControl(path: string, request: ControlRequest, signal: AbortSignal): ControlCall {
  const socket = connect({ path });
  const hangUp = () => socket.destroy(new AppError("sandbox.unavailable", "the request was cancelled"));
  signal.addEventListener("abort", hangUp, { once: true });
  socket.once("close", () => signal.removeEventListener("abort", hangUp));
  // Reading reports it; an error before anybody reads must not end the process.
  socket.on("error", () => undefined);
  socket.write(encode(CONTROL_FRAME.request, Buffer.from(JSON.stringify(request))));
  if (signal.aborted) hangUp();
  return {
    frames: readFrames(socket),
    send: (type, bytes) => void socket.write(encode(type, bytes)),
    close: () => socket.destroy(),
  };
}

/** Refusals of the supervisor that are the caller's doing. */
const REFUSAL: Readonly<Record<string, "sandbox.rejected" | "file.not_found">> = {
  ENOENT: "file.not_found",
  ENOTDIR: "file.not_found",
};

export function parseRefusal(bytes: Buffer): AppError {
  const { code, message } = ControlRefusal.parse(JSON.parse(bytes.toString("utf8")));
  return new AppError(REFUSAL[code] ?? "sandbox.rejected", message);
}

export const parseExit = (bytes: Buffer): ControlExit => ControlExit.parse(JSON.parse(bytes.toString("utf8")));

/** Runs a request to its end and returns what it wrote to standard output. */
export async function callControl(
  path: string,
  request: ControlRequest,
  signal: AbortSignal,
  input?: Uint8Array,
): Promise<Buffer> {
  const call = openControl(path, request, signal);
  if (input !== undefined) {
    for (let start = 0; start < input.length; start += CONTROL_FRAME_LIMIT_BYTES) {
      call.send(CONTROL_FRAME.stdin, input.subarray(start, start + CONTROL_FRAME_LIMIT_BYTES));
    }
    call.send(CONTROL_FRAME.stdinEnd, new Uint8Array());
  }
  const out: Buffer[] = [];
  try {
    for await (const frame of call.frames) {
      if (frame.type === CONTROL_FRAME.stdout) out.push(frame.bytes);
      else if (frame.type === CONTROL_FRAME.refused) throw parseRefusal(frame.bytes);
      else if (frame.type === CONTROL_FRAME.exit) return Buffer.concat(out);
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
