/** The server as `drover up` starts it, with its own Postgres: killed on demand, and started again on the same directory. */
import { spawn, type ChildProcess } from "node:child_process";
import { createWriteStream, readFileSync, type WriteStream } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openPostgres } from "../../../server/src/adapters/db-postgres.ts";
import type { Db } from "../../../server/src/ports/db.ts";
import type { FaultPoint } from "../../../server/src/ports/fault.ts";
import { sql } from "../../../server/src/store/sql.ts";
import type { Tally } from "./tally.ts";

const MAIN = join(import.meta.dirname, "../../../cli/src/main.ts");
const READY_MS = 90_000;
const STOP_MS = 30_000;

export const ADMIN_TOKEN = "drv_u_the-admin-of-the-chaos";

export type StatementFate = "ends" | "dies";

export interface ServerUnderFire {
  readonly url: string;
  /** Straight to its Postgres. */
  readonly db: Db;
  /** What went wrong with the process itself. */
  readonly complaints: readonly string[];
  /** Aborted when there is no hope: it ended by itself. */
  readonly hopeless: AbortSignal;
  /** Resolves when it serves. */
  ready(): Promise<void>;
  /** It is started again after `awayMs`, at once unless given. */
  kill(awayMs?: number): void;
  /** Kills it now, unless it is about to die at a point already, and lets the next life die at the n-th pass of the point. */
  killAt(point: FaultPoint, nth: number): void;
  killPostgres(part: "postmaster" | "backend"): void;
  /** Kills it while a statement that appends, and as a rule commits, is with Postgres and not answered. That statement ends as it would, or
   *  dies with Postgres in the middle. `onHeld` is called when such a statement will wait. False, and nobody is killed, if none came. */
  killInFlight(fate: StatementFate, onHeld?: () => void): Promise<boolean>;
  /** Kills it and keeps it down until `comeBack`. */
  stayAway(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return port;
}

const sendSignal = (pid: number | undefined, signal: NodeJS.Signals): boolean => {
  try {
    return pid !== undefined && process.kill(pid, signal);
  } catch {
    // Expected: it is gone already.
    return false;
  }
};

/** Its process id, and those of the processes it has started. */
function findPostgres(
  dataDir: string,
): { readonly postmaster: number; readonly backends: readonly number[] } | undefined {
  try {
    const postmaster = Number(readFileSync(join(dataDir, "pg/postmaster.pid"), "utf8").split("\n")[0]);
    const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").trim().split(" ");
    const isBackend = (pid: string) =>
      / drover .*(?:idle|SELECT|INSERT|COMMIT|UPDATE|BEGIN)/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    return { postmaster, backends: children.filter((pid) => pid !== "" && isBackend(pid)).map(Number) };
  } catch {
    // Expected: it is being started, or has just ended.
    return undefined;
  }
}

/** The number under which everybody who appends takes turns. */
const APPEND_LOCK = 1_685_222_262;
const FLIGHT_LOOKS = 100;
const LOOK_MS = 20;

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

/** The process of a statement that appends, held by the append lock. */
async function findInFlight(db: Db): Promise<number | undefined> {
  const [found] = await db.query(sql`select pid from pg_stat_activity
    where wait_event_type = 'Lock' and query like '%take_event_seqs%' and pid <> pg_backend_pid() limit 1`);
  return found === undefined ? undefined : Number(found["pid"]);
}

const isBusy = async (db: Db, pid: number): Promise<boolean> =>
  (await db.query(sql`select 1 from pg_stat_activity where pid = ${pid} and state = 'active'`)).length > 0;

interface Life {
  readonly child: ChildProcess;
  readonly fault: string | undefined;
  readonly ready: Promise<void>;
  /** `0`, `SIGKILL`, ... */
  readonly gone: Promise<string>;
}

function startLife(env: NodeJS.ProcessEnv, fault: string | undefined, log: WriteStream): Life {
  const child = spawn(process.execPath, [MAIN, "up"], {
    env: { ...env, ...(fault === undefined ? {} : { DROVER_FAULT: fault }) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr.pipe(log, { end: false });
  const ready = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on("line", (line) => line.startsWith("drover ready") && ready.resolve());
  const gone = new Promise<string>(
    (resolve) => void child.once("exit", (code, signal) => resolve(signal ?? String(code))),
  );
  return { child, fault, ready: ready.promise, gone };
}

export async function startServerUnderFire(directory: string, tally: Tally): Promise<ServerUnderFire> {
  const port = await findFreePort();
  const dataDir = join(directory, "data");
  const log = createWriteStream(join(directory, "server.log"), { flags: "a" });
  const env = {
    PATH: process.env["PATH"],
    HOME: directory,
    // A start takes half the time when the sources are compiled once for all of them.
    NODE_COMPILE_CACHE: join(directory, "compiled"),
    DROVER_PORT: String(port),
    SANDBOX_WARM_LOCAL: "0",
    DROVER_DATA_DIR: dataDir,
    DROVER_ADMIN_TOKEN: ADMIN_TOKEN,
    DROVER_LOG_LEVEL: "warn",
    DROVER_DEMO: "false",
    DIAGNOSTIC_ENABLED: "false",
  };
  const complaints: string[] = [];
  const giveUp = new AbortController();
  const complain = (complaint: string) => {
    complaints.push(complaint);
    giveUp.abort(new Error(complaint));
  };
  const faults: string[] = [];
  let isStopping = false;
  let isAway: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  let awayMs = 0;
  let life: Life;

  const begin = () => {
    const mine = startLife(env, faults.shift(), log);
    life = mine;
    const slow = setTimeout(() => complain(`the server was not ready after ${READY_MS} ms`), READY_MS);
    const settle = () => clearTimeout(slow);
    mine.ready.then(settle, settle);
    void mine.gone.then(async (how) => {
      settle();
      if (isStopping) return;
      if (how !== "SIGKILL") return complain(`the server ended by itself: ${how}`);
      tally.count(mine.child.killed ? "server, at any time" : `server at ${mine.fault?.split(":")[0]}`);
      await isAway?.promise;
      if (awayMs > 0) await new Promise<void>((resolve) => void setTimeout(resolve, awayMs));
      awayMs = 0;
      begin();
    });
  };
  begin();

  const ready = async () => {
    for (;;) {
      const mine = life;
      await Promise.race([mine.ready, mine.gone]);
      if (giveUp.signal.aborted) return;
      if (life === mine && mine.child.exitCode === null && mine.child.signalCode === null) return;
      // It died before it served: the next life is about to begin.
      await new Promise<void>((resolve) => void setTimeout(resolve, 10));
    }
  };

  const db = openPostgres({
    url: `postgresql://drover@/postgres?host=${encodeURIComponent(join(dataDir, "run"))}&sslmode=disable`,
    maxConnections: 3,
  });
  const killPostgres = (part: "postmaster" | "backend") => {
    const found = findPostgres(dataDir);
    const pid = part === "postmaster" ? found?.postmaster : found?.backends.at(-1);
    if (sendSignal(pid, "SIGKILL")) tally.count(`postgres, ${part}`);
  };
  /** Whoever appends waits for us, so that the server dies at a moment when its statement can not have been answered. */
  const strikeInFlight = async (fate: StatementFate, onHeld?: () => void): Promise<number | undefined> => {
    let pid: number | undefined;
    const holding = db.tx(async (tx) => {
      await tx.query(sql`select pg_advisory_xact_lock(${APPEND_LOCK})`);
      onHeld?.();
      for (let look = 0; look < FLIGHT_LOOKS && pid === undefined; look += 1) {
        pid = await findInFlight(db);
        if (pid === undefined) await pause(LOOK_MS);
      }
      if (pid === undefined) return;
      // From here on it reads nothing. Killed at once it would take Postgres with it, and the statement.
      life.child.kill("SIGSTOP");
      if (fate === "ends") return;
      // The one that waits first: nobody may give it the lock while Postgres dies.
      sendSignal(pid, "SIGKILL");
      killPostgres("postmaster");
    });
    // Expected: Postgres died with our transaction, by us or by another schedule.
    await holding.catch(() => undefined);
    return pid;
  };

  return {
    url: `http://127.0.0.1:${port}`,
    db,
    complaints,
    hopeless: giveUp.signal,
    ready,
    kill: (away = 0) => {
      awayMs = away;
      life.child.kill("SIGKILL");
    },
    killAt: (point, nth) => {
      faults.push(`${point}:${nth}`);
      if (life.fault === undefined) life.child.kill("SIGKILL");
    },
    killPostgres,
    killInFlight: async (fate, onHeld) => {
      const pid = await strikeInFlight(fate, onHeld);
      if (pid === undefined) return false;
      while (fate === "ends" && (await isBusy(db, pid).catch(() => false))) await pause(LOOK_MS);
      const { child, gone } = life;
      child.kill("SIGKILL");
      await gone;
      tally.count(`server in flight, its statement ${fate}`);
      return true;
    },
    stayAway: async () => {
      isAway = Promise.withResolvers<void>();
      const { gone, child } = life;
      child.kill("SIGKILL");
      await gone;
    },
    comeBack: async () => {
      isAway?.resolve();
      isAway = undefined;
      await new Promise<void>((resolve) => void setImmediate(resolve));
      await ready();
    },
    stop: async () => {
      isStopping = true;
      await ready();
      const { gone, child } = life;
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      const how = await gone;
      clearTimeout(late);
      if (how !== "0") complaints.push(`the server did not stop cleanly: ${how}`);
      log.end();
    },
  };
}
