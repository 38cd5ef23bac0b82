/** Worker, server and database killed at named points and at any time: nothing is lost, nothing comes twice. `CHAOS_SEED`
 *  repeats a run, `CHAOS_SCHEDULES` changes its length, `CHAOS_ONLY` picks schedules.
 *
 *  The code was broken on purpose, once per guarantee, and each time this test failed:
 *  - the outbox acknowledged before the reply: was accepted and is not stored
 *  - a worker answered before the commit: was accepted and is not stored
 *  - a compaction that forgets what waits: was accepted and is not stored
 *  - half a record left in the journal: has not ended and was not given its messages
 *  - no keys against repetition: is stored 2 times
 *  - an agent's place recorded apart from its events: a step is told where the next belongs
 *  - a message called seen when it is leased: is called seen, and no agent was given it
 *  - a message not written down before it is acknowledged: was not given its messages
 *  - a message's receipt not remembered: reached the agent 2 times
 *  - a stream resumed at its last event instead of after it: got it 2 times
 *  - a client that forgets its place: has not got
 *  Broken orders of commit, announcement, reading and subscription are the matter of `../delivery/delivery.test.ts`. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { untilFact } from "../delivery/fact.ts";
import { createChance } from "../chance.ts";
import { toPlan } from "./plan.ts";
import { askStore, runSchedule, type World } from "./schedule.ts";
import { startServerUnderFire } from "./server-under-fire.ts";
import { listAllSeqs } from "./store-truth.ts";
import { createTally } from "./tally.ts";
import { watchByClient, watchBySocket } from "./watcher.ts";

const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 1_000_000_000);
const schedules = Number(process.env["CHAOS_SCHEDULES"] ?? 50);
/** Repeats these alone: `12,14`. */
const only = process.env["CHAOS_ONLY"]?.split(",").map(Number);
const AT_ONCE = 6;
const DEADLINE_MS = 60_000;

/** Starts the next schedule as soon as one is over, so that the deaths of one fall into the lives of the others. */
async function runAll(world: World): Promise<readonly string[]> {
  const waiting = [...(only ?? Array.from({ length: schedules }, (_, index) => index))];
  const complaints: string[] = [];
  const work = async () => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      complaints.push(...(await runSchedule(world, toPlan(seed, index))));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return complaints;
}

test(`what a worker accepted reaches the store and every subscriber once, in order, through any death (seed ${seed})`, async () => {
  const since = performance.now();
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "drover-chaos-")));
  const tally = createTally();
  const server = await startServerUnderFire(directory, tally);
  await server.ready();
  const watchers = [
    watchByClient("a client of everything", server.url, {}, 0),
    watchBySocket("a bare socket", server.url, 0),
    watchBySocket("a socket that is cut often", server.url, 0, createChance(seed)),
  ];
  const complaints: string[] = [];
  try {
    const world = { directory, server, tally, watchers };
    complaints.push(...(await runAll(world)));
    const seqs = await askStore(world, listAllSeqs);
    const all = [...watchers, watchByClient("a client that comes last", server.url, {}, 0)];
    // The server may have something to say later on: what stood in the store at that moment is compared.
    const last = seqs.at(-1) ?? 0;
    const isThere = () => all.every(({ frames }) => (frames.at(-1)?.seq ?? 0) >= last);
    await untilFact(() => "every subscriber has the last event", isThere, DEADLINE_MS, 50).catch((error: unknown) =>
      complaints.push(String(error)),
    );
    for (const watcher of all) {
      complaints.push(...watcher.complaints);
      const got = watcher.frames.map(({ seq }) => seq).filter((seq) => seq <= last);
      if (JSON.stringify(got) !== JSON.stringify(seqs))
        complaints.push(`${watcher.name} got ${got.length} events of ${seqs.length}, or in another order`);
      tally.count("events received", got.length);
      tally.count("reconnects", watcher.reconnects());
      watcher.close();
    }
  } finally {
    for (const watcher of watchers) watcher.close();
    await server.db.close();
    await server.stop();
  }
  complaints.push(...server.complaints);
  console.info("chaos", {
    seed,
    schedules: only ?? schedules,
    seconds: Math.round((performance.now() - since) / 1_000),
    ...tally.toObject(),
  });
  if (complaints.length === 0) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  expect(complaints.join("\n"), `logs are in ${directory}`).toBe("");
});
