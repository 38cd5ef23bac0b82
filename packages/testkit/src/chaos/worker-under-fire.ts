/** A worker process that is killed again and again, and started again in the same directory. */
import { spawn, type ChildProcess } from "node:child_process";
import { appendFileSync, createWriteStream, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { toFrame } from "../../../worker/src/frame.ts";
import { UNSENT } from "./exit-code.ts";
import type { Plan } from "./plan.ts";
import type { Tally } from "./tally.ts";

const MAIN = join(import.meta.dirname, "worker-process.ts");
const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;
const STOP_MS = 30_000;
const STOP_TRIES = 6;

export interface WorkerUnderFire {
  readonly acceptLog: string;
  readonly complaints: readonly string[];
  kill(): void;
  /** Ends it as a system would, and again, once `isDrained`, until it says that everything is at the server. */
  stop(isDrained: () => Promise<void>): Promise<void>;
  end(): Promise<void>;
}

export interface WorkerOptions {
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly plan: Pick<Plan, "faults" | "isTorn">;
  readonly tally: Tally;
}

export function startWorkerUnderFire({ directory, env, plan, tally }: WorkerOptions): WorkerUnderFire {
  mkdirSync(directory, { recursive: true });
  const acceptLog = join(directory, "accepted.log");
  const journal = join(directory, "state", env["SANDBOX_ID"] ?? "", "outbox.journal");
  const log = createWriteStream(join(directory, "worker.log"), { flags: "a" });
  const complaints: string[] = [];
  let lives = 0;
  let isStopping = false;
  let child: ChildProcess;
  let gone: Promise<string>;

  /** Half a record at the end of the journal: what a loss of power leaves of a write that nobody was told of. */
  const tear = () => {
    const record = toFrame({
      k: "events",
      n: 1,
      e: [{ event_type: "agent.message", event_data: { content: "torn" } }],
    });
    if (existsSync(journal)) appendFileSync(journal, record.subarray(0, record.length - 7));
    tally.count("journal torn");
  };

  const begin = () => {
    const fault = isStopping ? undefined : plan.faults[lives];
    const mine = spawn(process.execPath, [MAIN], {
      env: {
        PATH,
        HOME: directory,
        NODE_COMPILE_CACHE: join(dirname(directory), "compiled"),
        STATE_DIR: join(directory, "state"),
        CWD: join(directory, "work"),
        ACCEPT_LOG: acceptLog,
        HEARTBEAT_INTERVAL: "1",
        POST_COMPLETION_SECONDS: "600",
        ...env,
        ...(fault === undefined ? {} : { DROVER_FAULT: `${fault.at}:${fault.nth}` }),
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    child = mine;
    mine.stderr.pipe(log, { end: false });
    gone = new Promise((resolve) => void mine.once("exit", (code, signal) => resolve(signal ?? String(code))));
    void gone.then((how) => {
      if (how === "SIGKILL") tally.count(mine.killed ? "worker, at any time" : `worker at ${fault?.at}`);
      if (isStopping) return;
      if (how !== "SIGKILL") complaints.push(`the worker ended by itself: ${how}`);
      else {
        if (plan.isTorn[lives] === true) tear();
        lives += 1;
        begin();
      }
    });
  };
  begin();

  return {
    acceptLog,
    complaints,
    kill: () => void child.kill("SIGKILL"),
    end: async () => {
      isStopping = true;
      child.kill("SIGKILL");
      await gone;
      log.end();
    },
    stop: async (isDrained) => {
      isStopping = true;
      for (let tries = 1; ; tries++) {
        child.kill("SIGTERM");
        const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
        const how = await gone;
        clearTimeout(late);
        if (how === "0") break;
        // Expected: a planned death, a server that is away, or a signal that came before there was anybody to hear it.
        const isExpected = ["SIGKILL", "SIGTERM", String(UNSENT)].includes(how);
        if (!isExpected || tries === STOP_TRIES) {
          complaints.push(`the worker did not end cleanly: ${how}, at try ${tries}`);
          break;
        }
        begin();
        await new Promise<void>((resolve) => {
          child.stderr?.once("data", () => resolve());
          child.once("exit", () => resolve());
        });
        await isDrained();
      }
    },
  };
}
