import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NewEvent } from "@drover/contract";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { type Disk, openDisk } from "./disk.ts";
import { noFault } from "./fault.ts";
import { createManualClock } from "./fixtures/manual-clock.ts";
import { createMemoryDisk, type MemoryDisk } from "./fixtures/memory-disk.ts";
import { MAGIC } from "./frame.ts";
import { openOutbox, type Outbox, type OutboxParts } from "./outbox.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const makeFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "outbox-"));
  folders.push(folder);
  return folder;
};

let opened = 0;
const open = (disk: Disk, more: Partial<OutboxParts> = {}) =>
  openOutbox({
    disk,
    clock: createManualClock(),
    fault: noFault,
    openId: `open${++opened}`,
    limitBytes: 1_000_000,
    compactAtBytes: 300,
    onTrouble: () => {},
    ...more,
  });

const event = (name: string | number, size = 0): NewEvent => ({
  event_type: "agent.message",
  source: "agent",
  event_data: { name: String(name), filler: "x".repeat(size) },
});
const names = (outbox: Outbox) =>
  outbox.peek(1e6, 1e9).map((entry) => ((JSON.parse(entry.json) as NewEvent).event_data as { name: string }).name);
const ids = (outbox: Outbox) =>
  outbox.peek(1e6, 1e9).map((entry) => (JSON.parse(entry.json) as NewEvent).client_event_id ?? "");

test("what was accepted and not acknowledged is there after a restart, in order, under the same ids", async () => {
  const disk = createMemoryDisk();
  const first = await open(disk);
  await first.append([event("a"), event("b")]);
  await first.append([event("c")]);
  first.ack(1);
  const before = ids(first);
  await first.close();
  const second = await open(disk);
  expect(names(second)).toEqual(["b", "c"]);
  expect(ids(second)).toEqual(before);
});

test("ids are never used again, also when everything was acknowledged and forgotten", async () => {
  const disk = createMemoryDisk();
  const seen = new Set<string>();
  for (let life = 0; life < 5; life++) {
    const outbox = await open(disk, { compactAtBytes: 0 });
    await outbox.append([event(life)]);
    for (const id of ids(outbox)) expect(seen.has(id)).toBe(false);
    for (const id of ids(outbox)) seen.add(id);
    outbox.ack(outbox.last);
    await outbox.close();
  }
  expect(seen.size).toBe(5);
});

test("events and notes of one append are kept together, and the last note survives compaction", async () => {
  const disk = createMemoryDisk();
  const outbox = await open(disk, { compactAtBytes: 0 });
  for (let step = 0; step < 20; step++) await outbox.append([event(step)], { mark: { step }, [`gone:${step}`]: step });
  await outbox.note({ "gone:3": null });
  outbox.ack(20);
  await outbox.close();
  const again = await open(disk);
  expect(again.pending).toBe(0);
  expect(again.getNote("mark")).toEqual({ step: 19 });
  expect(again.listNotes("gone:").map(([key]) => key)).not.toContain("gone:3");
  expect(await again.append([event("next")])).toBe(21);
});

test("concurrent appends share one fsync", async () => {
  const disk = createMemoryDisk();
  let syncs = 0;
  const counting: Disk = {
    ...disk,
    openAppend: async (name) => {
      const file = await disk.openAppend(name);
      return { ...file, sync: () => ((syncs += 1), file.sync()) };
    },
  };
  const outbox = await open(counting);
  await Promise.all(Array.from({ length: 100 }, (_, index) => outbox.append([event(index)])));
  expect(outbox.pending).toBe(100);
  expect(syncs).toBeLessThanOrEqual(2);
});

test("a journal cut at any byte holds exactly the whole records before the cut, and goes on from there", async () => {
  const name = "outbox.journal";
  const source = createMemoryDisk();
  const size = () => source.afterKill().get(name)?.length ?? 0;
  const outbox = await open(source);
  const ends = [size()];
  for (let n = 1; n <= 5; n++) {
    await outbox.append([event(n, n * 3)]);
    ends.push(size());
  }
  await outbox.close();
  const whole = source.afterKill().get(name) ?? MAGIC;
  for (let length = ends[0] ?? 0; length <= whole.length; length++) {
    const disk = createMemoryDisk(new Map([[name, whole.subarray(0, length)]]));
    const cut = await open(disk);
    const kept = ends.filter((end) => end <= length).length - 1;
    expect(names(cut)).toEqual(["1", "2", "3", "4", "5"].slice(0, kept));
    expect(cut.tornBytes).toBe(length - (ends[kept] ?? 0));
    await cut.append([event("new")]);
    await cut.close();
    const again = await open(disk);
    expect(names(again)).toEqual([...["1", "2", "3", "4", "5"].slice(0, kept), "new"]);
    await again.close();
  }
});

test("a real file whose end is torn is cut and goes on", async () => {
  const folder = makeFolder();
  const path = join(folder, "outbox.journal");
  const outbox = await open(await openDisk(folder));
  await outbox.append([event("a")]);
  await outbox.append([event("b", 50)]);
  await outbox.close();
  writeFileSync(path, readFileSync(path).subarray(0, -20));
  const cut = await open(await openDisk(folder));
  await cut.append([event("c")]);
  cut.ack(1);
  await cut.close();
  const again = await open(await openDisk(folder));
  expect(names(again)).toEqual(["c"]);
  await again.close();
});

test("zeros or noise behind the last record are never read as a record", async () => {
  const disk = createMemoryDisk();
  const outbox = await open(disk);
  await outbox.append([event("a")]);
  await outbox.close();
  const content = disk.afterKill().get("outbox.journal") ?? MAGIC;
  const tails = [
    Buffer.alloc(8),
    Buffer.alloc(4096),
    Buffer.from("\0\0\0\0\0\0\0\x01x"),
    content.subarray(MAGIC.length, -1),
  ];
  for (const tail of [
    ...tails,
    ...fc.sample(fc.uint8Array({ maxLength: 200 }), 200).map((bytes) => Buffer.from(bytes)),
  ]) {
    const torn = await open(createMemoryDisk(new Map([["outbox.journal", Buffer.concat([content, tail])]])));
    // A whole copied head record would be valid; everything else is cut.
    expect(names(torn)[0]).toBe("a");
    expect(names(torn).length).toBe(1);
  }
});

test("a file that is no journal is refused, not overwritten", async () => {
  const disk = createMemoryDisk(new Map([["outbox.journal", Buffer.from("somebody's notes")]]));
  await expect(open(disk)).rejects.toThrow("not a worker's journal");
});

test("a full outbox makes append wait for an acknowledgement, keeps the order, and drops what may be dropped", async () => {
  const outbox = await open(createMemoryDisk(), { limitBytes: 1_000 });
  await outbox.append([event("a", 700)]);
  let isAccepted = false;
  const b = outbox.append([event("b", 700)]).then(() => (isAccepted = true));
  const c = outbox.append([event("c")]);
  expect(await outbox.offer(event("heartbeat"))).toBeUndefined();
  await outbox.settled();
  expect(isAccepted).toBe(false);
  expect(names(outbox)).toEqual(["a"]);
  outbox.ack(1);
  await Promise.all([b, c]);
  expect(names(outbox)).toEqual(["b", "c"]);
});

test("a record larger than the outbox is accepted when nothing else waits", async () => {
  const outbox = await open(createMemoryDisk(), { limitBytes: 100 });
  await outbox.append([event("large", 5_000)]);
  expect(names(outbox)).toEqual(["large"]);
});

test("on a full disk append waits and says so once, and nothing accepted is lost when space returns", async () => {
  const disk = createMemoryDisk();
  const clock = createManualClock();
  const troubles: (string | undefined)[] = [];
  const outbox = await open(disk, { clock, onTrouble: (error) => troubles.push(error?.code) });
  await outbox.append([event("a")]);
  disk.capacity = 300;
  const pending = [outbox.append([event("b", 400)]), outbox.append([event("c")])];
  await clock.sleeping();
  expect(await outbox.offer(event("heartbeat"))).toBeUndefined();
  clock.advance(100);
  await clock.sleeping();
  expect(names(await open(createMemoryDisk(disk.afterKill())))).toEqual(["a"]);
  disk.capacity = Infinity;
  clock.advance(10_000);
  await Promise.all(pending);
  expect(troubles).toEqual(["ENOSPC", undefined]);
  expect(names(await open(createMemoryDisk(disk.afterPowerLoss(0))))).toEqual(["a", "b", "c"]);
});

test("after a failed fsync the record is written anew before it is accepted", async () => {
  const disk = createMemoryDisk();
  const clock = createManualClock();
  const outbox = await open(disk, { clock });
  await outbox.append([event("a")]);
  disk.failSyncs = 1;
  const accepted = outbox.append([event("b")]);
  await clock.sleeping();
  clock.advance(100);
  await accepted;
  expect(names(await open(createMemoryDisk(disk.afterPowerLoss(0))))).toEqual(["a", "b"]);
});

test("when the rewritten journal cannot be opened, nothing is written to the file it replaced", async () => {
  const disk = createMemoryDisk();
  const outbox = await open(disk, { compactAtBytes: 0 });
  await outbox.append([event("a"), event("b")]);
  disk.failOpens = 1;
  outbox.ack(1);
  await outbox.settled();
  expect(disk.failOpens).toBe(0);
  await outbox.append([event("c")]);
  expect(names(await open(createMemoryDisk(disk.afterPowerLoss(0))))).toEqual(["b", "c"]);
});

test("closing on a full disk refuses what waits instead of hanging", async () => {
  const disk = createMemoryDisk();
  const clock = createManualClock();
  const outbox = await open(disk, { clock });
  disk.capacity = 0;
  const refused = expect(outbox.append([event("a")])).rejects.toMatchObject({ code: "data_dir.full" });
  await clock.sleeping();
  await outbox.close();
  await refused;
});

test("an amended event keeps its id and goes out with the new text", async () => {
  const outbox = await open(createMemoryDisk());
  await outbox.append([event("a"), event("b")]);
  const before = ids(outbox);
  expect(outbox.amend(2, event("better"))).toBe(true);
  expect(names(outbox)).toEqual(["a", "better"]);
  expect(ids(outbox)).toEqual(before);
  outbox.ack(2);
  expect(outbox.amend(2, event("late"))).toBe(false);
});

test("a batch keeps to both limits but is never empty", async () => {
  const outbox = await open(createMemoryDisk());
  for (let n = 0; n < 10; n++) await outbox.append([event(n, 1_000)]);
  expect(outbox.peek(3, 1e9).map((entry) => entry.n)).toEqual([1, 2, 3]);
  expect(outbox.peek(100, 2_500).map((entry) => entry.n)).toEqual([1, 2]);
  expect(outbox.peek(100, 1).map((entry) => entry.n)).toEqual([1]);
});

// --- every death

type Move =
  | { do: "append"; count: number; size: number; wait: boolean }
  | { do: "ack"; back: number }
  | { do: "settle" }
  | { do: "reopen" };
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      count: fc.integer({ min: 1, max: 3 }),
      size: fc.nat(80),
      wait: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ack" as const), back: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.constant({ do: "settle" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "reopen" as const }) },
);

/** What the callers know; the disk must agree with it. */
interface Ledger {
  made: number;
  submitted: string[];
  accepted: Set<string>;
  acked: Set<string>;
}

async function live(
  disk: MemoryDisk,
  moves: readonly Move[],
  ledger: Ledger,
  limits: Partial<OutboxParts>,
): Promise<void> {
  let outbox = await open(disk, limits);
  const unsettled = new Set<Promise<unknown>>();
  for (const step of moves) {
    if (step.do === "append") {
      const batch = Array.from({ length: step.count }, (_, index) => `${ledger.made + index}`);
      ledger.made += batch.length;
      ledger.submitted.push(...batch);
      const done = outbox
        .append(
          batch.map((name) => event(name, step.size)),
          { mark: Number(batch.at(-1)) },
        )
        .then(
          () => batch.forEach((name) => ledger.accepted.add(name)),
          () => {},
        );
      unsettled.add(done);
      if (step.wait && limits.limitBytes === undefined) await done;
    } else if (step.do === "ack") {
      const waiting = outbox.peek(1e6, 1e9);
      const last = waiting[waiting.length - 1 - step.back];
      if (last === undefined) continue;
      for (const name of names(outbox).slice(0, waiting.length - step.back)) ledger.acked.add(name);
      outbox.ack(last.n);
    } else if (step.do === "settle") {
      await outbox.settled();
    } else {
      await outbox.close();
      await Promise.all(unsettled);
      outbox = await open(disk, limits);
    }
  }
  await outbox.close();
  await Promise.all(unsettled);
}

const moves = fc.array(move, { minLength: 1, maxLength: 25 });
const limits = fc.constantFrom({}, { compactAtBytes: 0 }, { compactAtBytes: 0, limitBytes: 400 });

test("without a death, exactly what was accepted and not acknowledged is there, in order", async () => {
  await fc.assert(
    fc.asyncProperty(moves, limits, async (plan, limit) => {
      const disk = createMemoryDisk();
      const ledger: Ledger = { made: 0, submitted: [], accepted: new Set(), acked: new Set() };
      await live(disk, plan, ledger, limit);
      const outbox = await open(disk);
      expect(names(outbox)).toEqual(
        ledger.submitted.filter((name) => ledger.accepted.has(name) && !ledger.acked.has(name)),
      );
    }),
    { numRuns: 150 },
  );
});

test("a death at any byte of any write loses nothing accepted, doubles nothing, and keeps order and marks", async () => {
  await fc.assert(
    fc.asyncProperty(
      moves,
      limits,
      fc.array(fc.nat(3_000), { minLength: 1, maxLength: 4 }),
      fc.option(fc.nat(50)),
      async (plan, limit, lives, keep) => {
        let content = new Map<string, Buffer>();
        const ledger: Ledger = { made: 0, submitted: [], accepted: new Set(), acked: new Set() };
        for (const life of lives) {
          const disk = createMemoryDisk(content, life + 1);
          await Promise.race([live(disk, plan, ledger, limit), disk.died]);
          await Promise.resolve();
          content = keep === null ? disk.afterKill() : disk.afterPowerLoss(keep);
          const found = await open(createMemoryDisk(content));
          const there = names(found);
          // In order, none twice.
          expect(there).toEqual(ledger.submitted.filter((name) => there.includes(name)));
          expect(new Set(ids(found)).size).toBe(there.length);
          // Everything accepted and not acknowledged is there; what was never handed in is not.
          expect([...ledger.accepted].filter((name) => !ledger.acked.has(name) && !there.includes(name))).toEqual([]);
          // The mark is that of the last record on disk, or of a later one that was acknowledged.
          const mark = found.getNote("mark");
          if (there.length > 0) expect(mark).toBe(Number(there.at(-1)));
          // What died half-way and did not survive was never accepted: the next life starts from what is there.
          ledger.submitted = ledger.submitted.filter(
            (name) => there.includes(name) || ledger.accepted.has(name) || ledger.acked.has(name),
          );
        }
      },
    ),
    { numRuns: 400 },
  );
});
