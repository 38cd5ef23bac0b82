/** Reads and writes the frames of one control connection. */
import type { Socket } from "node:net";
import { CONTROL_FRAME_LIMIT_BYTES, CONTROL_HEADER_BYTES } from "@drover/contract/control-frame";

export interface Frame {
  readonly type: number;
  readonly bytes: Buffer;
}

const CHUNK_BYTES = 64 * 1024;

/** Writes one frame, in pieces if it is large. False when the other side should be waited for. */
export function writeFrame(socket: Socket, type: number, bytes: Uint8Array): boolean {
  let isReady = true;
  let start = 0;
  do {
    const piece = bytes.subarray(start, start + CHUNK_BYTES);
    const head = Buffer.allocUnsafe(CONTROL_HEADER_BYTES);
    head[0] = type;
    head.writeUInt32BE(piece.length, 1);
    socket.cork();
    socket.write(head);
    isReady = socket.write(piece);
    // What is written in the same turn leaves together.
    process.nextTick(() => socket.uncork());
    start += piece.length;
  } while (start < bytes.length);
  return isReady;
}

export const writeJson = (socket: Socket, type: number, value: unknown): boolean =>
  writeFrame(socket, type, Buffer.from(JSON.stringify(value)));

/** Frames in the order they came. A frame beyond the limit ends the connection. */
export function onFrames(socket: Socket, listener: (frame: Frame) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= CONTROL_HEADER_BYTES) {
      const size = rest.readUInt32BE(1);
      if (size > CONTROL_FRAME_LIMIT_BYTES) return void socket.destroy();
      if (rest.length < CONTROL_HEADER_BYTES + size) return;
      const frame = { type: rest[0] ?? 0, bytes: rest.subarray(CONTROL_HEADER_BYTES, CONTROL_HEADER_BYTES + size) };
      rest = rest.subarray(CONTROL_HEADER_BYTES + size);
      listener(frame);
    }
  });
}
