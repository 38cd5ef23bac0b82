/** The server is away while agents work: nothing is lost, the order is kept, and everybody is back within seconds of its return. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readAccepted } from "./accept-log.ts";
import type { Plan } from "./plan.ts";
import { askStore, runSchedule, wait, type Run } from "./schedule.ts";
import { startServerUnderFire } from "./server-under-fire.ts";
import { isStored, listAllSeqs } from "./store-truth.ts";
import { createTally } from "./tally.ts";
import { watchByClient, watchBySocket } from "./watcher.ts";

const awaySeconds = Number(process.env["CHAOS_OUTAGE_SECONDS"] ?? 8);
const AGENTS = 3;
const BACK_WITHIN_MS = 5_000;
const ROUND_SECONDS = 0.02;

/** Work for longer than the outage, and nobody is killed but the server. */
const toLongPlan = (index: number): Plan => ({
  index,
  segments: 1,
  rounds: Math.ceil((awaySeconds + 6) / ROUND_SECONDS),
  padding: 50,
  hasEdits: false,
  deeds: [],
  faults: [],
  isTorn: [],
});

test(`a server that was away for ${awaySeconds} s under load finds everything again, and everybody is back within ${BACK_WITHIN_MS} ms`, async () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "drover-outage-")));
  const tally = createTally();
  const server = await startServerUnderFire(directory, tally);
  await server.ready();
  const watchers = [
    watchByClient("a client of everything", server.url, {}, 0),
    watchBySocket("a bare socket", server.url, 0),
  ];
  const world = { directory, server, tally, watchers };
  const runs: Run[] = [];
  const schedules = Promise.all(
    Array.from({ length: AGENTS }, (_, index) => runSchedule(world, toLongPlan(index), (run) => void runs.push(run))),
  );
  const countAccepted = () => runs.map((run) => readAccepted(run.worker.acceptLog).length);
  const complaints: string[] = [];
  try {
    await wait(
      world,
      () => "all agents work",
      () => runs.length === AGENTS && runs.every((run) => run.progress() > 20),
    );

    await server.stayAway();
    const awaySince = performance.now();
    const acceptedBefore = countAccepted();
    await wait(
      world,
      () => "the outage is long enough",
      () => performance.now() - awaySince > awaySeconds * 1_000,
    );
    const acceptedAway = countAccepted().map((count, index) => count - (acceptedBefore[index] ?? 0));
    // Work went on: what was accepted meanwhile lies in the journals.
    for (const count of acceptedAway) expect(count).toBeGreaterThan(awaySeconds * 5);

    await server.comeBack();
    const backSince = performance.now();
    const owed = runs.map((run, index) => readAccepted(run.worker.acceptLog).slice(acceptedBefore[index]));
    const everybody = [...watchers, ...runs.map((run) => run.own)];
    await wait(
      world,
      () => "every subscriber is live again",
      () => everybody.every((watcher) => watcher.isLive()),
    );
    const subscribersMs = Math.round(performance.now() - backSince);
    /** Milliseconds from the server's return until every worker has brought the event at this place of what it owed. */
    const measureBrought = async (place: number) => {
      for (const [index, run] of runs.entries()) {
        const isThere = () => askStore(world, (db) => isStored(db, run.id, owed[index]?.at(place)?.id ?? ""));
        await wait(world, () => `${run.id} has brought what it owed`, isThere);
      }
      return Math.round(performance.now() - backSince);
    };
    const workersMs = await measureBrought(0);
    const drainedMs = await measureBrought(-1);
    console.info("outage", { awaySeconds, acceptedAway, subscribersMs, workersMs, drainedMs });

    complaints.push(...(await schedules).flat());
    const seqs = await askStore(world, listAllSeqs);
    await wait(
      world,
      () => "every subscriber has the last event",
      () => watchers.every(({ frames }) => frames.at(-1)?.seq === seqs.at(-1)),
    );
    for (const watcher of watchers) {
      complaints.push(...watcher.complaints);
      expect(
        watcher.frames.map(({ seq }) => seq),
        watcher.name,
      ).toEqual(seqs);
    }
    expect(complaints.join("\n"), `logs are in ${directory}`).toBe("");
    expect(subscribersMs).toBeLessThan(BACK_WITHIN_MS);
    expect(workersMs).toBeLessThan(BACK_WITHIN_MS);
  } finally {
    for (const watcher of watchers) watcher.close();
    await Promise.all(runs.map((run) => run.worker.end()));
    await server.db.close();
    await server.stop();
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
});
