/** The log against a server that cuts, repeats, loses, restarts and delays: it is always contiguous and never doubled. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { fastTimers, until } from "../test/facts.ts";
import { OTHER_SANDBOX, SANDBOX, ServerDouble, type Fault } from "../test/server-double.ts";
import { createClient, type Client } from "./create-client.ts";
import { toLogEvent, type LogEvent } from "./log-event.ts";

const fault = fc.constantFrom<Fault>("twice", "lose", "cut-before", "cut-after");
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("append" as const), count: fc.integer({ min: 1, max: 40 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("append-other" as const), count: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("faults" as const),
      faults: fc.array(fault, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("http-faults" as const),
      faults: fc.array(fc.constantFrom("throw" as const, 503 as const), { maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ do: "cut" as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("close" as const), code: fc.constantFrom(1012, 1013, 1011) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("restart" as const), downMs: fc.integer({ min: 0, max: 400 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("pause" as const), ms: fc.integer({ min: 0, max: 300 }) }) },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

const pause = (ms: number) => new Promise<void>((resolve) => void fastTimers.after(ms, resolve));

async function perform(server: ServerDouble, act: Action): Promise<void> {
  switch (act.do) {
    case "append":
      return server.append(act.count);
    case "append-other":
      return server.append(act.count, OTHER_SANDBOX);
    case "faults":
      return void server.faults.push(...act.faults);
    case "http-faults":
      return void server.httpFaults.push(...act.faults);
    case "cut":
      return server.cutAll();
    case "close":
      return server.closeAll(act.code);
    case "restart":
      await server.stop(1012);
      await pause(act.downMs);
      return server.start();
    case "pause":
      return pause(act.ms);
  }
}

/** Every state that a subscriber sees is one unbroken run of numbers. */
function complain(events: readonly LogEvent[]): string | undefined {
  const broken = events.findIndex(
    (event, index) => index > 0 && event.sandbox_seq !== (events[index - 1]?.sandbox_seq ?? 0) + 1,
  );
  return broken === -1 ? undefined : `after ${events[broken - 1]?.sandbox_seq} comes ${events[broken]?.sandbox_seq}`;
}

async function readTail(client: Client): Promise<readonly LogEvent[]> {
  const query = { order: "desc", limit: 8 } as const;
  const page = await client.listSandboxEvents({ params: { sandbox_id: SANDBOX }, query });
  return page.events.flatMap((event) => toLogEvent(event) ?? []).toReversed();
}

const runs = Number(process.env["FUZZ_RUNS"] ?? 25);
const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);

test(
  `the log is contiguous without duplicates whatever the connection does (seed ${seed})`,
  { timeout: 120_000 },
  async () => {
    const totals = { events: 0, holesHealed: 0, duplicatesDropped: 0, reconnects: 0 };
    const property = fc.asyncProperty(
      fc.integer({ min: 0, max: 120 }),
      // Events since somebody read the newest ones; without a number nobody has.
      fc.option(fc.integer({ min: 0, max: 60 })),
      fc.array(action, { minLength: 5, maxLength: 40 }),
      async (before, since, actions) => {
        const server = new ServerDouble();
        await server.start();
        server.append(before);
        const client = createClient({ baseUrl: server.baseUrl, fetch: server.fetch, timers: fastTimers });
        const tail = since === null ? undefined : await readTail(client);
        server.append(since ?? 0);
        const log = client.openSandboxLog(SANDBOX, { pageSize: 16, quietMs: 2_000, graceMs: 1_000, tail });
        const complaints: string[] = [];
        log.subscribe(() =>
          complaints.push(...[complain(log.getSnapshot().events)].filter((one) => one !== undefined)),
        );
        try {
          for (const act of actions) {
            await perform(server, act);
            await pause(50);
          }
          server.faults.length = 0;
          server.httpFaults.length = 0;
          const { events, stats } = await until(
            log,
            (snapshot) => snapshot.stats.head === server.headOf(SANDBOX) && snapshot.isComplete && !snapshot.isLoading,
          );
          expect(complaints).toEqual([]);
          expect(events.map((event) => event.sandbox_seq)).toEqual(
            Array.from({ length: server.headOf(SANDBOX) }, (_, index) => index + 1),
          );
          expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
          totals.events += events.length;
          totals.holesHealed += stats.holesHealed;
          totals.duplicatesDropped += stats.duplicatesDropped;
          totals.reconnects += stats.reconnects;
        } finally {
          log.close();
          await server.stop();
        }
      },
    );
    await fc.assert(property, { numRuns: runs, seed, endOnFailure: true });
    console.info("fuzz", { seed, runs, ...totals });
  },
);
