/** Leads the connections of a hosted sandbox to this server's own sockets, as long as the sandbox stands. */
import { open } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { createWebSocketStream } from "ws";
import { HOSTED_REPLACED, HostedAnswer, type HostedRequest, type HostedSocket } from "@drover/contract";
import { dial, type RemoteOptions } from "./call.ts";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const PING_MS = 20_000;

export interface Relay {
  /** Resolves when the other side listens for the first time, or the relay has ended. */
  readonly isOpen: Promise<void>;
  close(): void;
}

async function serve(options: RemoteOptions, directory: string, id: string, name: HostedSocket): Promise<void> {
  // By its open directory: the path of a unix socket has at most 107 bytes.
  const handle = await open(directory);
  const inside = connect(join(`/proc/self/fd/${handle.fd}`, name));
  const forget = () => void handle.close();
  inside.once("connect", forget).once("error", forget);
  const outside = createWebSocketStream(dial(options, { connection: id }));
  // Expected: either side hangs up; what was sent before arrives, and the other is hung up on.
  outside.on("error", () => inside.destroy()).once("close", () => inside.destroySoon());
  inside.on("error", () => outside.destroy()).once("close", () => outside.end());
  outside.pipe(inside);
  inside.pipe(outside);
}

/** Dials again when the connection is lost, until it is closed or another server has taken over. */
export function openRelay(options: RemoteOptions, key: string, directory: string): Relay {
  const opened = Promise.withResolvers<void>();
  let isClosed = false;
  let pauseMs = FIRST_PAUSE_MS;
  let end: () => void = () => undefined;
  const start = () => {
    if (isClosed) return;
    const socket = dial(options);
    const pinger = setInterval(() => {
      if (socket.readyState === socket.OPEN) socket.ping();
    }, PING_MS).unref();
    end = () => socket.terminate();
    socket.once("open", () => socket.send(JSON.stringify({ op: "relay", key } satisfies HostedRequest)));
    socket.on("message", (data: Buffer) => {
      const answer = HostedAnswer.safeParse(JSON.parse(data.toString("utf8"))).data;
      if (answer?.type === "ready") {
        pauseMs = FIRST_PAUSE_MS;
        opened.resolve();
      } else if (answer?.type === "connection") {
        // Expected: a sandbox that ends in this moment.
        serve(options, directory, answer.id, answer.socket).catch(() => undefined);
      }
    });
    // Expected: the other server is away; `close` follows.
    socket.on("error", () => undefined);
    socket.once("close", (code) => {
      clearInterval(pinger);
      if (code === HOSTED_REPLACED) isClosed = true;
      if (isClosed) return opened.resolve();
      setTimeout(start, pauseMs).unref();
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    });
  };
  start();
  return {
    isOpen: opened.promise,
    close: () => {
      isClosed = true;
      end();
    },
  };
}
