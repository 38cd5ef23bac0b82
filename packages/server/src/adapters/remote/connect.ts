/** A connection to a port of a sandbox that another Drover runs. */
import { Duplex } from "node:stream";
import { openCall, type RemoteBytes, type RemoteCall, type RemoteOptions } from "./call.ts";

function toDuplex(call: RemoteCall, bytes: AsyncIterator<RemoteBytes>): Duplex {
  return new Duplex({
    async read() {
      // Expected: the sandbox or its server ends under the connection, which is the end of it.
      const next = await bytes.next().catch(() => ({ done: true, value: undefined }) as const);
      this.push(next.done === true ? null : Buffer.from(next.value.chunk));
    },
    async write(chunk: Buffer, _encoding, done) {
      call.send(chunk);
      await call.drained();
      done();
    },
    final(done) {
      call.say({ type: "end" });
      done();
    },
    destroy(error, done) {
      call.close();
      done(error);
    },
  });
}

export async function connectThere(
  remote: RemoteOptions,
  key: string,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  const call = openCall(remote, { op: "connect", key, port }, signal);
  try {
    await call.ready;
    return toDuplex(call, call.bytes[Symbol.asyncIterator]());
  } catch (error) {
    call.close();
    throw error;
  }
}
