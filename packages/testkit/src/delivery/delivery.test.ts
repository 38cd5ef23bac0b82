/** Delivery, whatever the order of things: appends, rollbacks, subscriptions, cuts, slow readers and lost hints, over the real
 *  store, ingest, tails and subscribers of two replicas. `DELIVERY_SEED` repeats a run, `DELIVERY_RUNS` changes its length.
 *
 *  The code was broken on purpose, once per guarantee, and each time this test failed:
 *  - no advisory lock in take_event_seqs: missing (a lower number became visible after a higher one was passed)
 *  - events announced before their commit: foreign (a rolled back event was delivered)
 *  - no look at the keys, or none written, or none within a group: stored twice, or the group is refused
 *  - the sandbox's row not locked: sandbox_seq not dense
 *  - a fed event taken although numbers before it are missing: not every client has the last event
 *  - rows that were fed while they were read taken again: twice
 *  - no second look without a hint: not every client has the last event
 *  - a page's cursor put at the head as it is after the read, or at the head although the page was full: missing
 *  - live after the store was read, without looking at what came meanwhile: not every client has the last event
 *  - live without regard to what the store had given ahead of the tail: twice (this was a defect of ours)
 *  - a full line passed over: not every client has the last event
 *  - sync said before the replayed part ended: not there at the sync; sync said again: a second sync */
import { AppError, type EventFrame, type NewEvent, type ProjectId, type SandboxId } from "@drover/contract";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { randomIds } from "../../../server/src/adapters/ids-random.ts";
import { insertProject } from "../../../server/src/store/projects.ts";
import { query } from "../../../server/src/store/query.ts";
import { insertSandbox } from "../../../server/src/store/sandboxes.ts";
import { sql } from "../../../server/src/store/sql.ts";
import { createDatabase, type TestDatabase } from "../postgres.ts";
import { untilFact } from "./fact.ts";
import { createGate, createLatch } from "./gate.ts";
import { createLossyNetwork, type HintFate } from "./lossy-bus.ts";
import { openReplica, type Replica } from "./replica.ts";
import { createSecondAppender } from "./second-appender.ts";
import { StreamClient, type Wish } from "./stream-client.ts";

const SANDBOXES = 3;
const CLIENTS = 5;
const TYPES = ["agent.message", "agent.tool_use", "agent.note"] as const;
const DEADLINE_MS = 30_000;

// --- what may happen

const replicaIndex = fc.integer({ min: 0, max: 1 });
const sandboxIndex = fc.integer({ min: 0, max: SANDBOXES - 1 });
const clientIndex = fc.integer({ min: 0, max: CLIENTS - 1 });
/** Few keys, so that the same one comes again: in a batch, in another batch, through the other replica. */
const newEvent = fc.record({
  type: fc.constantFrom(...TYPES),
  key: fc.option(fc.integer({ min: 0, max: 60 }), { freq: 3 }),
});

const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      replica: replicaIndex,
      sandbox: sandboxIndex,
      isOne: fc.boolean(),
      events: fc.array(newEvent, { minLength: 1, maxLength: 12 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("begin" as const),
      sandbox: sandboxIndex,
      count: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      how: fc.constantFrom("commit" as const, "roll back" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("fail" as const),
      replica: replicaIndex,
      point: fc.constantFrom("ingest.before_commit" as const, "ingest.committed" as const),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("connect" as const),
      client: clientIndex,
      replica: replicaIndex,
      after: fc.constantFrom("now", "now", "start", "before", "before", "before", "beginning"),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("disconnect" as const), client: clientIndex }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("read" as const),
      client: clientIndex,
      count: fc.integer({ min: 1, max: 50 }),
    }),
  },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
const wish = fc.record({
  type: seldom(fc.constantFrom(...TYPES)),
  sandboxes: seldom(fc.subarray([0, 1, 2], { minLength: 1, maxLength: 2 })),
  project: seldom(fc.integer({ min: 0, max: 1 })),
  isAcknowledging: fc.boolean(),
  room: fc.integer({ min: 1, max: 30 }),
});

const schedule = fc.record({
  actions: fc.array(action, { minLength: 20, maxLength: 80 }),
  wishes: fc.array(wish, { minLength: CLIENTS, maxLength: CLIENTS }),
  delays: fc.array(fc.constantFrom(0, 0, 1, 2, 4, 8), { minLength: 3, maxLength: 17 }),
  /** After each action: how many statements the database answers before the next. */
  paces: fc.array(fc.constantFrom(0, 1, 3, 8), { minLength: 1, maxLength: 11 }),
  fates: fc.array(fc.constantFrom<HintFate>("pass", "lose", "lose", "twice", "late"), { minLength: 1, maxLength: 13 }),
});
type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;

// --- what must be true: read from the store by statements of this test's own

const StoredRow = z.object({
  seq: z.number(),
  /** Null, like the sandbox, for what is told beside a sandbox's log: its agent's status. */
  sandbox_seq: z.number().nullable(),
  sandbox_id: z.string().nullable(),
  entity_id: z.string(),
  project_id: z.string(),
  event_type: z.string(),
  client_event_id: z.string().nullable(),
  n: z.number(),
});
type StoredRow = z.infer<typeof StoredRow>;
const listStored = query(
  "delivery.stored",
  StoredRow,
  [],
  () => sql`
  select seq, sandbox_seq, sandbox_id, entity_id, project_id, event_type, client_event_id, coalesce((event_data->>'n')::bigint, -1) as n
  from events order by seq`,
);

const isWished = (given: Wish, row: StoredRow) =>
  (given.filter.event_types === undefined ||
    given.filter.event_types.includes(row.sandbox_id === null ? row.event_type : `SANDBOX_${row.event_type}`)) &&
  (given.filter.entity_ids === undefined || given.filter.entity_ids.includes(row.entity_id)) &&
  (given.projectId === null || given.projectId === row.project_id);

/** Says in what way `received` is not `expected`; undefined when it is. */
function complainOfReceived(received: readonly EventFrame[], expected: readonly StoredRow[]): string | undefined {
  const seqs = received.map((event) => event.seq);
  const wanted = new Map(expected.map((row) => [row.seq, row]));
  const got = new Set<number>();
  const twice = seqs.filter((seq) => got.has(seq) || void got.add(seq));
  const foreign = seqs.filter((seq) => !wanted.has(seq));
  const missing = expected.filter((row) => !got.has(row.seq)).map((row) => row.seq);
  const disorder = seqs.find((seq, index) => index > 0 && seq < (seqs[index - 1] ?? 0));
  const changed = received.filter((event) => {
    const row = wanted.get(event.seq);
    return row !== undefined && (event.payload["n"] ?? -1) !== row.n;
  });
  const found = {
    twice,
    foreign,
    missing,
    disorder: disorder === undefined ? [] : [disorder],
    changed: changed.map((event) => event.seq),
  };
  const said = Object.entries(found).filter(([, list]) => list.length > 0);
  return said.length === 0 ? undefined : JSON.stringify(Object.fromEntries(said));
}

function complainOfDensity(rows: readonly StoredRow[]): readonly string[] {
  const last = new Map<string, number>();
  return rows.flatMap(({ sandbox_id, sandbox_seq }) => {
    if (sandbox_id === null || sandbox_seq === null) return [];
    const before = last.get(sandbox_id) ?? 0;
    last.set(sandbox_id, sandbox_seq);
    return sandbox_seq === before + 1 ? [] : [`${sandbox_id}: after sandbox_seq ${before} comes ${sandbox_seq}`];
  });
}

// --- the world of one schedule

interface Submitted {
  readonly sandboxId: SandboxId;
  readonly key: string | undefined;
  readonly n: number;
  outcome: "open" | "stored" | "refused";
}

let database: TestDatabase;
let projects: readonly ProjectId[];
let counter = 0;
const totals = { runs: 0, events: 0, duplicates: 0, rolledBack: 0, connections: 0, delivered: 0 };

async function createSandbox(project: ProjectId): Promise<SandboxId> {
  const row = await insertSandbox.one(database.db, {
    id: randomIds.sandbox(undefined),
    project_id: project,
    task_id: null,
    provider: "external",
    runtime: null,
    model: null,
    prompt: null,
    repo: null,
    base_branch: null,
    labels: {},
    spec: {},
    resources: {
      memory_gb: { value: 4, origin: "default" },
      cpu: { value: 2, origin: "default" },
      disk_gb: { value: 8, origin: "default" },
      image: null,
      snapshot: null,
    },
    network: "none",
    created_by: "test",
  });
  return row.id;
}

beforeAll(async () => {
  database = await createDatabase();
  projects = [randomIds.project(), randomIds.project()];
  for (const id of projects)
    await insertProject.one(database.db, { id, name: id, description: null, repo: null, is_default: false });
  // A past that is longer than several pages.
  const gate = createGate([0]);
  const replica = await openReplica(database.url, createLossyNetwork(["pass"], gate).join(), gate);
  for (const project of projects) {
    const sandboxId = await createSandbox(project);
    const events = Array.from({ length: 550 }, (): NewEvent => ({
      event_type: "agent.message",
      event_data: { n: counter++ },
      source: "agent",
    }));
    await replica.ingest.batch({ sandboxId, generation: 1 }, events);
  }
  await replica.close();
});

afterAll(() => database.drop());

async function runSchedule({ actions, wishes, delays, paces, fates }: Schedule): Promise<void> {
  const gate = createGate(delays);
  const network = createLossyNetwork(fates, gate);
  const sandboxes: SandboxId[] = [];
  for (let index = 0; index < SANDBOXES; index++) sandboxes.push(await createSandbox(projects[index % 2] as ProjectId));
  const patient = createGate([0]);
  let isStarted = false;
  const replicas = await Promise.all(
    [0, 1].map(() =>
      openReplica(database.url, network.join(), { ...gate, pass: () => (isStarted ? gate.pass() : patient.pass()) }),
    ),
  );
  isStarted = true;
  const start = replicas[0]?.tail.head() ?? 0;
  const second = createSecondAppender(database.db);
  const clients = wishes.map(
    ({ type, sandboxes: wished, project, isAcknowledging, room }) =>
      new StreamClient({
        isAcknowledging,
        room,
        projectId: project === null ? null : (projects[project] ?? null),
        filter: {
          event_types: type === null ? undefined : [`SANDBOX_${type}`],
          entity_ids: wished === null ? undefined : wished.map((index) => sandboxes[index] ?? ""),
        },
      }),
  );
  const submitted: Submitted[] = [];
  const underWay: Promise<unknown>[] = [];
  const starts = { now: undefined, start, before: Math.max(0, start - 30), beginning: 0 } as const;

  const append = (
    replica: Replica,
    sandboxId: SandboxId,
    isOne: boolean,
    given: readonly { type: string; key: number | null }[],
  ) => {
    const mine = given.map(({ key }): Submitted => ({
      sandboxId,
      key: key === null ? undefined : `k${key}`,
      n: counter++,
      outcome: "open",
    }));
    submitted.push(...mine);
    const events = mine.map(({ key, n }, index): NewEvent => ({
      event_type: given[index]?.type ?? "",
      event_data: { n },
      source: "agent",
      ...(key === undefined ? {} : { client_event_id: key }),
    }));
    const worker = { sandboxId, generation: 1 };
    const settle = (outcome: "stored" | "refused") => mine.forEach((one) => (one.outcome = outcome));
    const [first] = events;
    const reply =
      isOne && events.length === 1 && first !== undefined
        ? replica.ingest.one(worker, first)
        : replica.ingest.batch(worker, events);
    underWay.push(
      reply.then(
        () => settle("stored"),
        (error: unknown) => {
          // Expected: what the schedule made fail. Whether it was stored is then unknown.
          if (!(error instanceof AppError) && !(error instanceof Error && error.message === "the statement failed"))
            throw error;
          settle("refused");
        },
      ),
    );
  };

  const perform = (act: Action): void => {
    const replica = "replica" in act ? replicas[act.replica] : undefined;
    const client = "client" in act ? clients[act.client] : undefined;
    const sandboxId = "sandbox" in act ? sandboxes[act.sandbox] : undefined;
    switch (act.do) {
      case "append":
        return append(replica!, sandboxId!, act.isOne, act.isOne ? act.events.slice(0, 1) : act.events);
      case "begin":
        return second.begin(
          sandboxId!,
          Array.from({ length: act.count }, () => counter++),
        );
      case "end":
        if (act.how === "roll back") totals.rolledBack += 1;
        return second.end(act.how);
      case "fail":
        return replica!.failNext(act.point);
      case "connect":
        return client!.connect(replica!.tail, starts[act.after as keyof typeof starts]);
      case "disconnect":
        return client!.disconnect();
      case "read":
        return client!.read(act.count);
    }
  };

  try {
    for (const [index, act] of actions.entries()) {
      perform(act);
      for (let pace = paces[index % paces.length] ?? 0; pace > 0; pace--) await database.db.query(sql`select 1`);
      gate.tick();
    }
    gate.open();
    second.end("commit");
    await second.done;
    await Promise.all(underWay);
    // Whoever is away comes back, to either replica, and everybody reads to the end.
    clients.forEach((client, index) => client.connect(replicas[index % 2]!.tail, start));
    const isAtEnd = (stored: readonly StoredRow[]) => {
      for (const client of clients) client.read(Infinity);
      return clients.every((client) => {
        const last = stored.findLast((row) => row.seq > (client.from ?? 0) && isWished(client.wish, row));
        return client.isSynced && (last === undefined || client.received.some((event) => event.seq === last.seq));
      });
    };
    const before = await listStored(database.db);
    await untilFact(
      () => "every client has the last event",
      () => isAtEnd(before),
      DEADLINE_MS,
    );
    // The last events come through healthy lines: what would be sent twice has been sent before them.
    network.heal();
    for (const sandboxId of sandboxes)
      append(
        replicas[0]!,
        sandboxId,
        false,
        TYPES.map((type) => ({ type, key: null })),
      );
    await Promise.all(underWay);
    const stored = await listStored(database.db);
    await untilFact(
      () => "every client has the closing events",
      () => isAtEnd(stored),
      DEADLINE_MS,
    );

    for (const [index, client] of clients.entries()) {
      const expected = stored.filter((row) => row.seq > (client.from ?? 0) && isWished(client.wish, row));
      expect(client.complaints, `client ${index}`).toEqual([]);
      expect(complainOfReceived(client.received, expected), `client ${index} after ${client.from}`).toBeUndefined();
      for (const { fromSeq, throughSeq, after } of client.syncs) {
        const promised = expected.filter((row) => row.seq > fromSeq && row.seq <= throughSeq).map((row) => row.seq);
        const before = new Set(client.received.slice(0, after).map((event) => event.seq));
        expect(
          promised.filter((seq) => !before.has(seq)),
          `client ${index}: not there at the sync through ${throughSeq}`,
        ).toEqual([]);
      }
      totals.delivered += client.received.length;
      totals.connections += client.connections;
    }
    expect(complainOfDensity(stored)).toEqual([]);
    const mine = stored.filter((row) => sandboxes.includes(row.sandbox_id as SandboxId));
    const count = new Map<string, number>();
    for (const row of mine) {
      const names = [
        `n${row.n}`,
        ...(row.client_event_id === null ? [] : [`${row.sandbox_id} ${row.client_event_id}`]),
      ];
      for (const name of names) count.set(name, (count.get(name) ?? 0) + 1);
    }
    for (const { sandboxId, key, n, outcome } of submitted) {
      const name = key === undefined ? `n${n}` : `${sandboxId} ${key}`;
      const times = count.get(name) ?? 0;
      expect(outcome === "stored" ? times === 1 : times <= 1, `${name}, ${outcome}, is stored ${times} times`).toBe(
        true,
      );
      if (key !== undefined && !count.has(`n${n}`)) totals.duplicates += 1;
    }
    for (const n of second.committed) expect(count.get(`n${n}`), `n${n} of the second appender`).toBe(1);
    totals.runs += 1;
    totals.events += mine.length;
  } finally {
    gate.open();
    second.end("roll back");
    for (const client of clients) client.disconnect();
    await Promise.allSettled([second.done, ...underWay]);
    for (const replica of replicas) await replica.close();
  }
}

const runs = Number(process.env["DELIVERY_RUNS"] ?? 30);
const seed = Number(process.env["DELIVERY_SEED"] ?? Date.now() % 1_000_000_000);

test(
  `every subscriber gets each committed matching event after its cursor once, in order, with one sync (seed ${seed})`,
  { timeout: 120_000 + runs * 1_000 },
  async () => {
    await fc.assert(fc.asyncProperty(schedule, runSchedule), { numRuns: runs, seed, endOnFailure: true });
    console.info("delivery", { seed, ...totals });
  },
);

test("what is committed while a page is read from the store is not passed over", async () => {
  const free = createGate([0]);
  const latch = createLatch();
  const sandboxId = await createSandbox(projects[0] as ProjectId);
  const replica = await openReplica(database.url, createLossyNetwork(["pass"], free).join(), free, latch);
  const client = new StreamClient({ filter: {}, projectId: null, isAcknowledging: false, room: 1_000 });
  const events = (): NewEvent[] => [{ event_type: "agent.note", event_data: { n: counter++ }, source: "agent" }];
  try {
    latch.hold();
    await untilFact(
      () => "the tail reads",
      () => latch.waiting() === 1,
      DEADLINE_MS,
    );
    client.connect(replica.tail, replica.tail.head() - 10);
    await untilFact(
      () => "the page is read",
      () => latch.waiting() === 2,
      DEADLINE_MS,
    );
    await replica.ingest.batch({ sandboxId, generation: 1 }, events());
    latch.open();
    await replica.ingest.batch({ sandboxId, generation: 1 }, events());
    const stored = (await listStored(database.db)).filter((row) => row.seq > (client.from ?? 0));
    const hasLast = () => {
      client.read(Infinity);
      return client.received.at(-1)?.seq === stored.at(-1)?.seq;
    };
    await untilFact(() => "the client has the last event", hasLast, DEADLINE_MS);
    expect(complainOfReceived(client.received, stored)).toBeUndefined();
  } finally {
    latch.open();
    client.disconnect();
    await replica.close();
  }
});
