/** A connection to a port of a container, through a program inside: such a sandbox has no network that leads there. */
import { Duplex } from "node:stream";
import { AppError } from "@drover/contract";
import type Docker from "dockerode";
import { toAppError, type Connection } from "./connection.ts";
import { endSession, readFrames, startExec, type StartedExec } from "./exec-stream.ts";

/** Says its pid and whether it is through; then each side sends pieces with their length before them, and one of length 0 for its end. Not by
 *  the end of the engine's streams: with it the engine may cut off what it has not passed on. Programs that listen on `localhost` may have
 *  taken either address. Argument: port. */
const CONNECT = `
const tell = (bytes) => {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return process.stdout.write(Buffer.concat([head, bytes]));
};
const lead = (inner) => {
  let rest = Buffer.alloc(0);
  process.stdin.on("data", (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
      const end = 4 + rest.readUInt32BE(0);
      if (end === 4) inner.end();
      else if (!inner.write(rest.subarray(4, end))) {
        process.stdin.pause();
        inner.once("drain", () => process.stdin.resume());
      }
      rest = rest.subarray(end);
    }
  });
  inner.on("data", (chunk) => {
    if (tell(chunk)) return;
    inner.pause();
    process.stdout.once("drain", () => inner.resume());
  });
  inner.once("end", () => tell(Buffer.alloc(0)));
  inner.once("close", () => {
    process.stdin.resume();
    if (!inner.readableEnded) tell(Buffer.alloc(0));
  });
};
const dial = ([host, ...others]) => {
  const inner = require("node:net").connect({ host, port: Number(process.argv[1]), allowHalfOpen: true });
  let isThrough = false;
  inner.once("connect", () => {
    isThrough = true;
    process.stdout.write("connected\\n");
    lead(inner);
  });
  inner.on("error", () => {
    if (isThrough) return;
    if (others.length > 0) return dial(others);
    process.stdout.write("refused\\n", () => process.exit(0));
  });
};
process.stdin.once("end", () => process.exit(0));
process.stdout.write(process.pid + "\\n");
dial(["127.0.0.1", "::1"]);`;

const HEAD_BYTES = 4;
/** Nobody inside can make this process keep more than that. */
const PIECE_LIMIT_BYTES = 16 * 1024 * 1024;

/** What the program says, as much at a time as is asked for. */
function openReader(stream: Duplex) {
  const frames = readFrames(stream);
  let rest: Buffer = Buffer.alloc(0);
  let complaint = "";
  /** False at the end. */
  const more = async (): Promise<boolean> => {
    const next = await frames.next();
    if (next.done === true) return false;
    if (next.value.type === "stdout") rest = Buffer.concat([rest, next.value.chunk]);
    else complaint = (complaint + next.value.chunk.toString()).slice(0, 1_000);
    return true;
  };
  const take = (end: number): Buffer => {
    const bytes = rest.subarray(0, end);
    rest = rest.subarray(end);
    return bytes;
  };
  return {
    line: async (): Promise<string> => {
      while (!rest.includes("\n")) {
        if (await more()) continue;
        const reason = complaint.trim() || rest.toString().trim() || "it needs node";
        throw new AppError("sandbox.rejected", `no program in the sandbox could connect: ${reason}`);
      }
      return take(rest.indexOf("\n") + 1)
        .toString()
        .trim();
    },
    /** Undefined at the end of the connection. */
    piece: async (): Promise<Buffer | undefined> => {
      while (rest.length < HEAD_BYTES) if (!(await more())) return undefined;
      const size = rest.readUInt32BE(0);
      if (size === 0 || size > PIECE_LIMIT_BYTES) return undefined;
      while (rest.length < HEAD_BYTES + size) if (!(await more())) return undefined;
      return take(HEAD_BYTES + size).subarray(HEAD_BYTES);
    },
  };
}

function toPiece(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}

function toDuplex({ stream }: StartedExec, reader: ReturnType<typeof openReader>, end: () => void): Duplex {
  return new Duplex({
    async read() {
      // Expected: the container ends under the connection, which is the end of it.
      this.push((await reader.piece().catch(() => undefined)) ?? null);
    },
    write(chunk: Buffer, _encoding, done) {
      stream.write(toPiece(chunk), done);
    },
    final(done) {
      stream.write(toPiece(Buffer.alloc(0)), done);
    },
    destroy(error, done) {
      end();
      done(error);
    },
  });
}

export async function connectInside(
  connection: Connection,
  container: Docker.Container,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  const start = { argv: ["node", "-e", CONNECT, String(port)], env: {}, isTerminal: false };
  const started = await startExec(connection, container, start, signal);
  const reader = openReader(started.stream);
  let hangUp = () => void started.stream.destroy();
  const onAbort = () => hangUp();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const pid = Number(await reader.line());
    if ((await reader.line()) !== "connected")
      throw new AppError("port.not_answering", `nothing answers at port ${port}`);
    signal.throwIfAborted();
    const opened = toDuplex(started, reader, () => void endSession(container, pid, started));
    hangUp = () => void opened.destroy();
    return opened.once("close", () => signal.removeEventListener("abort", onAbort));
  } catch (error) {
    signal.removeEventListener("abort", onAbort);
    started.stream.destroy();
    throw toAppError(error, connection, signal);
  }
}
