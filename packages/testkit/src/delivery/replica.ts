/** One replica as the server composes it (ingest, tail, bus, pool), with a gate before every answer of the database. */
import { AppError } from "@drover/contract";
import { systemClock } from "../../../server/src/adapters/clock-system.ts";
import { openPostgres } from "../../../server/src/adapters/db-postgres.ts";
import { randomIds } from "../../../server/src/adapters/ids-random.ts";
import type { EventLogDeps } from "../../../server/src/app/event-log.ts";
import { openIngest, type Ingest } from "../../../server/src/app/ingest-events.ts";
import { openTail, type Tail } from "../../../server/src/app/tail-events.ts";
import type { Bus } from "../../../server/src/ports/bus.ts";
import type { Clock } from "../../../server/src/ports/clock.ts";
import type { Db } from "../../../server/src/ports/db.ts";
import type { FaultPoint } from "../../../server/src/ports/fault.ts";
import { silentLog } from "../silent-log.ts";
import type { Gate } from "./gate.ts";

/** Waits shrink fifty-fold; the order of things stays as it is. */
const fastClock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 50, signal) };

/** Answers arrive late: others commit between what was read or committed and the moment in which its asker knows. */
const toLateDb = (db: Db, gate: Gate): Db => ({
  query: async (statement) => {
    const rows = await db.query(statement);
    await gate.pass();
    return rows;
  },
  tx: async (fn) => {
    const result = await db.tx(fn);
    await gate.pass();
    return result;
  },
  close: () => db.close(),
});

export interface Replica {
  readonly deps: EventLogDeps;
  readonly ingest: Ingest;
  readonly tail: Tail;
  /** The next group fails before its commit, or its outcome stays unknown to whoever sent it. */
  failNext(point: FaultPoint): void;
  close(): Promise<void>;
}

/** `readGate` is for what its tail asks, `gate` for what it appends. */
export async function openReplica(url: string, bus: Bus, gate: Gate, readGate: Gate = gate): Promise<Replica> {
  const pool = openPostgres({ url, maxConnections: 6 });
  const db = toLateDb(pool, gate);
  const stopping = new AbortController();
  const tail = await openTail({
    db: toLateDb(pool, readGate),
    bus,
    clock: fastClock,
    log: silentLog,
    signal: stopping.signal,
  });
  let armed: FaultPoint | undefined;
  const fault = (point: FaultPoint) => {
    if (point !== armed) return;
    armed = undefined;
    throw point === "ingest.committed" ? new AppError("database.unavailable") : new Error("the statement failed");
  };
  const deps: EventLogDeps = { db, bus, clock: fastClock, ids: randomIds, tail, fault };
  return {
    deps,
    ingest: openIngest(deps),
    tail,
    failNext: (point) => {
      armed = point;
    },
    close: async () => {
      stopping.abort();
      await tail.done;
      await pool.close();
    },
  };
}
