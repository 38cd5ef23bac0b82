/** Connects to one of the addresses that were judged, and to nothing else. */
import { connect, isIP, type Socket } from "node:net";

const CONNECT_MS = 10_000;
const ADDRESSES = 4;

const dialOne = (address: string, port: number, signal: AbortSignal) =>
  new Promise<Socket>((resolve, reject) => {
    const socket = connect({ host: address, port, family: isIP(address), allowHalfOpen: true });
    const limit = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]);
    const giveUp = () => socket.destroy(new Error("no answer in time"));
    limit.addEventListener("abort", giveUp, { once: true });
    socket.once("error", reject).once("connect", () => {
      limit.removeEventListener("abort", giveUp);
      resolve(socket);
    });
    if (signal.aborted) giveUp();
  });

/** Undefined when none of them answers. */
export async function dial(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Socket | undefined> {
  for (const address of addresses.slice(0, ADDRESSES)) {
    // Expected: refused, unreachable, too slow. The next one may answer.
    const socket = await dialOne(address, port, signal).catch(() => undefined);
    if (socket !== undefined || signal.aborted) return socket;
  }
  return undefined;
}
