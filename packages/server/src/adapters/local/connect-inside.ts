/** A connection to a port of a sandbox, through its supervisor. */
import { Duplex } from "node:stream";
import { AppError, CONTROL_FRAME, CONTROL_FRAME_LIMIT_BYTES } from "@drover/contract";
import { openControl, parseRefusal, type ControlCall, type ControlFrame } from "./control.ts";
import type { Place } from "./places.ts";

function toDuplex(call: ControlCall, frames: AsyncIterator<ControlFrame>): Duplex {
  return new Duplex({
    async read() {
      // Expected: the sandbox ends under the connection, which is the end of it.
      const next = await frames.next().catch(() => ({ done: true, value: undefined }) as const);
      if (next.done === true || next.value.type !== CONTROL_FRAME.stdout) this.push(null);
      else this.push(Buffer.from(next.value.bytes));
    },
    async write(chunk: Buffer, _encoding, done) {
      for (let start = 0; start < chunk.length; start += CONTROL_FRAME_LIMIT_BYTES)
        call.send(CONTROL_FRAME.stdin, chunk.subarray(start, start + CONTROL_FRAME_LIMIT_BYTES));
      done((await call.drained()) ? null : new Error("the connection into the sandbox is gone"));
    },
    final(done) {
      call.send(CONTROL_FRAME.stdinEnd, new Uint8Array());
      done();
    },
    destroy(error, done) {
      call.close();
      done(error);
    },
  });
}

export async function connectInside(place: Place, port: number, signal: AbortSignal): Promise<Duplex> {
  const call = openControl(place, { op: "connect", port }, signal);
  const frames = call.frames[Symbol.asyncIterator]();
  try {
    const first = await frames.next();
    if (first.done === true) throw new AppError("sandbox.unavailable", "the sandbox ended");
    if (first.value.type === CONTROL_FRAME.refused) throw parseRefusal(first.value.bytes);
    return toDuplex(call, frames);
  } catch (error) {
    call.close();
    if (error instanceof AppError) throw error;
    throw new AppError("sandbox.unavailable", "the sandbox does not answer", { cause: error });
  }
}
