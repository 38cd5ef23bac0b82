/** A connection to a port of this sandbox, for somebody outside. */
import { connect, type Socket } from "node:net";
import type { ControlRequest } from "@drover/contract";
import { CONTROL_FRAME } from "@drover/contract/control-frame";
import { writeFrame, writeJson, type Frame } from "./control-frames.ts";

const dialAt = (host: string, port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const inner = connect({ host, port });
    inner.once("connect", () => resolve(inner)).once("error", reject);
  });

/** Programs that listen on `localhost` may have taken either. */
const dial = (port: number): Promise<Socket> => dialAt("127.0.0.1", port).catch(() => dialAt("::1", port));

function lead(socket: Socket, inner: Socket): void {
  inner.on("error", () => inner.destroy());
  socket.once("close", () => inner.destroy());
  writeFrame(socket, CONTROL_FRAME.stdout, new Uint8Array());
  inner.on("data", (chunk: Buffer) => {
    if (writeFrame(socket, CONTROL_FRAME.stdout, chunk)) return;
    inner.pause();
    socket.once("drain", () => inner.resume());
  });
  inner.once("close", () => {
    writeJson(socket, CONTROL_FRAME.exit, { code: 0, signal: null });
    socket.end();
  });
}

export function serveConnection(
  socket: Socket,
  { port }: Extract<ControlRequest, { op: "connect" }>,
): (frame: Frame) => void {
  const dialled = dial(port);
  dialled.then(
    (inner) => lead(socket, inner),
    () => {
      writeJson(socket, CONTROL_FRAME.refused, { code: "ECONNREFUSED", message: `nothing answers at ${port}` });
      socket.end();
    },
  );
  return (frame) => {
    const bytes = Buffer.from(frame.bytes);
    // Expected: nothing answers there, which was told.
    void dialled
      .then((inner) => {
        if (frame.type === CONTROL_FRAME.stdinEnd) return void inner.end();
        if (frame.type !== CONTROL_FRAME.stdin || inner.write(bytes)) return;
        socket.pause();
        inner.once("drain", () => socket.resume()).once("close", () => socket.resume());
      })
      .catch(() => undefined);
  };
}
