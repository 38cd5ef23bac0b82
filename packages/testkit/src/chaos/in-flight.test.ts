/** The server dies after it has sent the statement that appends and commits, and before it has read the answer: whether that statement was
 *  committed or died with Postgres, the event that is sent again is stored once and reaches every subscriber once.
 *
 *  Broken on purpose, seen here: no keys against repetition. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@drover/client";
import { expect, test } from "vitest";
import { untilFact } from "../delivery/fact.ts";
import { askStore } from "./schedule.ts";
import { ADMIN_TOKEN, startServerUnderFire } from "./server-under-fire.ts";
import { isStored, listAllSeqs, listStored } from "./store-truth.ts";
import { createTally } from "./tally.ts";
import { watchByClient, watchBySocket } from "./watcher.ts";

const DEADLINE_MS = 60_000;

test("an event whose statement was in flight when the server died is stored once", { timeout: 300_000 }, async () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "drover-flight-")));
  const tally = createTally();
  const server = await startServerUnderFire(directory, tally);
  await server.ready();
  const watchers = [
    watchByClient("a client of everything", server.url, {}, 0),
    watchBySocket("a bare socket", server.url, 0),
  ];
  const world = { directory, server, tally, watchers };
  try {
    const client = createClient({ baseUrl: server.url, token: ADMIN_TOKEN });
    const { id, worker_token: token } = await client.createSandbox({ body: { provider: "external" } });
    const post = async (key: string) => {
      const reply = await fetch(`${server.url}/api/v1/sandboxes/${id}/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({
          events: [{ event_type: "agent.message", event_data: {}, source: "agent", client_event_id: key }],
        }),
      });
      return (await reply.json()) as { readonly accepted: number; readonly duplicates: number };
    };
    const expected: string[] = [];
    // The one that is repeated last: for a while after it keys are looked up first, in a transaction.
    for (const fate of ["dies", "ends"] as const) {
      // The row is as the server left it from the first one on, so that the others are appended and committed by one statement.
      for (const key of [`${fate} before`, `${fate} just before`]) {
        expect(await post(key)).toMatchObject({ accepted: 1 });
        expected.push(key);
      }
      let answer: Promise<unknown> = Promise.resolve("nothing was sent");
      const isKilled = await server.killInFlight(fate, () => {
        answer = post(`${fate} in flight`).catch(() => undefined);
      });
      expect(isKilled).toBe(true);
      expect(await answer).toBeUndefined();
      await server.ready();
      const isThere = await askStore(world, (db) => isStored(db, id, `${fate} in flight`));
      expect(isThere).toBe(fate === "ends");
      const again = await post(`${fate} in flight`);
      expect(again).toMatchObject(isThere ? { accepted: 0, duplicates: 1 } : { accepted: 1, duplicates: 0 });
      expected.push(`${fate} in flight`);
    }
    const stored = await askStore(world, (db) => listStored(db, id));
    expect(stored.flatMap((event) => event.client_event_id ?? [])).toEqual(expected);
    const seqs = await askStore(world, listAllSeqs);
    for (const watcher of watchers) {
      const isThere = () => (watcher.frames.at(-1)?.seq ?? 0) >= (seqs.at(-1) ?? 0);
      await untilFact(() => `${watcher.name} has the last event`, isThere, DEADLINE_MS, 20);
      expect(watcher.frames.map(({ seq }) => seq)).toEqual(seqs);
      expect(watcher.complaints).toEqual([]);
    }
  } finally {
    for (const watcher of watchers) watcher.close();
    await server.db.close();
    await server.stop();
  }
  expect(server.complaints).toEqual([]);
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
});
