/** Many WebSocket clients in one process; they only count what arrives. */
import { WebSocket } from "ws";
import { answer } from "./child.ts";

let sockets: WebSocket[] = [];
let counts: number[] = [];
let goal = Number.POSITIVE_INFINITY;
let reached = Promise.withResolvers<number>();
let sample: string[] = [];

function count(index: number, data: Buffer): void {
  if (!data.includes('"type":"event"')) return;
  if (index === 0 && sample.length < 1_000) sample.push(data.toString());
  const now = (counts[index] ?? 0) + 1;
  counts[index] = now;
  if (now === goal && counts.every((one) => one >= goal)) reached.resolve(performance.now());
}

answer({
  open: async (url: string, token: string | undefined, many: number) => {
    for (const socket of sockets) socket.terminate();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    sockets = Array.from({ length: many }, () => new WebSocket(url, { headers, perMessageDeflate: false }));
    counts = sockets.map(() => 0);
    sample = [];
    await Promise.all(
      sockets.map((socket, index) => {
        socket.on("message", (data: Buffer) => count(index, data));
        return new Promise<void>((resolve, reject) => void socket.once("open", () => resolve()).once("error", reject));
      }),
    );
  },
  expectMore: (more: number) => {
    counts = counts.map(() => 0);
    goal = more;
    reached = Promise.withResolvers<number>();
  },
  /** Resolves when every socket has got all that is expected. */
  waitForAll: () => reached.promise.then(() => undefined),
  sample: () => sample,
});
