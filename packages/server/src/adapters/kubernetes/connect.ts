/** A connection to a port of the sandbox's own loopback, through a program inside. */
import { Duplex } from "node:stream";
import { AppError } from "@drover/contract";
import type { Client } from "./client.ts";
import { openChannel } from "./exec-channel.ts";
import { COMMAND, CONNECT, toInput } from "./inside.ts";

/** As the program inside expects it: the length, then the bytes; nothing at all is the end. */
function toPiece(bytes: Uint8Array): Uint8Array {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}

export async function connectPort(client: Client, pod: string, port: number, signal: AbortSignal): Promise<Duplex> {
  const connected = Promise.withResolvers<void>();
  const duplex = new Duplex({
    read: () => channel.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      channel.write(toPiece(chunk));
      done();
    },
    final: (done) => {
      channel.write(toPiece(new Uint8Array()));
      done();
    },
    destroy: (error, done) => {
      channel.close();
      done(error);
    },
  });
  const onOutput = (stream: "stdout" | "stderr", chunk: Buffer) => {
    if (stream === "stderr") connected.resolve();
    // Whoever reads slowly holds the sandbox up, and fills nobody's memory.
    else if (!duplex.push(chunk)) channel.pause();
  };
  const channel = await openChannel(client, { pod, command: COMMAND, onOutput }, signal);
  const onAbort = () => connected.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  void channel.ended
    .then(
      () => connected.reject(new AppError("port.not_answering", `nothing answers at port ${port}`)),
      connected.reject,
    )
    .then(() => duplex.push(null));
  channel.write(toInput(CONNECT, { port }));
  try {
    await connected.promise;
    return duplex;
  } catch (error) {
    duplex.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
