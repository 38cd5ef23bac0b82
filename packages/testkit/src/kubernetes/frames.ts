/** Frames between the emulator and the program inside a pod: the channel of the cluster's protocol, a length, bytes. */
import type { Socket } from "node:net";

export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;
const HEADER_BYTES = 5;

export function toFrame(channel: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(HEADER_BYTES + payload.length);
  frame[0] = channel;
  frame.writeUInt32BE(payload.length, 1);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

/** Calls back with whole frames, however they arrive. */
export function readFrames(onFrame: (channel: number, payload: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + rest.readUInt32BE(1);
      if (rest.length < end) return;
      const channel = rest.readUInt8(0);
      const payload = rest.subarray(HEADER_BYTES, end);
      rest = rest.subarray(end);
      onFrame(channel, payload);
    }
  };
}

/** Both directions end quietly when the other side is gone. */
export const ignoreErrors = (socket: Socket): void => void socket.on("error", () => undefined);
