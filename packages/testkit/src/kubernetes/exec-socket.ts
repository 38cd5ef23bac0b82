/** The channel protocol of exec: the first byte of each message is the stream's number. */
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { CHANNEL, ignoreErrors, readFrames, toFrame } from "./frames.ts";

const UNSENT_LIMIT_BYTES = 256 * 1024;

export function bridge(socket: WebSocket, process: Socket, onSent: (bytes: number) => void): void {
  ignoreErrors(process);
  socket.on("error", () => undefined);
  const send = (channel: number, payload: Uint8Array) => {
    socket.send(Buffer.concat([Buffer.of(channel), payload]), () => {
      if (socket.bufferedAmount <= UNSENT_LIMIT_BYTES) process.resume();
    });
    onSent(payload.length);
    // A reader that is slow holds the process up.
    if (socket.bufferedAmount > UNSENT_LIMIT_BYTES) process.pause();
  };
  // As servers do: an empty message opens each stream.
  for (const channel of [CHANNEL.stdout, CHANNEL.stderr, CHANNEL.status]) send(channel, Buffer.alloc(0));
  process.on("data", readFrames(send));
  process.once("close", () => socket.close(1000));
  socket.on("message", (data, isBinary) => {
    const bytes = Buffer.from(data as Buffer);
    const channel = bytes[0];
    if (!isBinary || channel === undefined) return;
    if (channel === CHANNEL.close) process.write(toFrame(CHANNEL.close, Buffer.alloc(0)));
    else if (channel === CHANNEL.stdin || channel === CHANNEL.resize)
      process.write(toFrame(channel, bytes.subarray(1)));
  });
  socket.once("close", () => process.end());
}
