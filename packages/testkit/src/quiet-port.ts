/** A port that stays free while its owner is dead: outside of the range from which the kernel gives ports to callers. */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const FIRST = 20_000;
const LAST = 30_000;
const TRIES = 100;

export async function findQuietPort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(FIRST, LAST);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${LAST}`);
}
