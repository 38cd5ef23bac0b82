/** The product as people start it: `drover up` in a process of its own, so that it can be killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const ROOT = join(import.meta.dirname, "../../..");

export interface DroverProcess {
  readonly port: number;
  readonly pid: number;
  /** Printed at the start: works once. */
  readonly loginUrl: string;
  /** As a power cut would: nothing is said goodbye to. */
  kill(): Promise<void>;
  /** Resolves with its exit code; null when it was ended by a signal. */
  stop(): Promise<number | null>;
}

export interface DroverOptions {
  /** Without it the embedded one is started. */
  readonly databaseUrl?: string;
  readonly dataDir: string;
  readonly adminToken: string;
  /** Local sandboxes that stand ready; none unless told. */
  readonly warm?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** By `npm start`, whose process is then the one that is signalled. */
  readonly isByNpm?: boolean;
}

export async function startDrover({
  databaseUrl,
  dataDir,
  adminToken,
  warm = 0,
  environment = {},
  isByNpm = false,
}: DroverOptions): Promise<DroverProcess> {
  const [program, ...words] = isByNpm ? ["npm", "start"] : [process.execPath, "packages/cli/src/main.ts", "up"];
  const child = spawn(program, words, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
      DROVER_DATA_DIR: dataDir,
      DROVER_ADMIN_TOKEN: adminToken,
      DROVER_PORT: "0",
      DROVER_LOG_LEVEL: "error",
      DROVER_EVENT_BURST: "100000",
      SANDBOX_WARM_LOCAL: String(warm),
      ...environment,
    },
  });
  let complaints = "";
  child.stderr.on("data", (part: Buffer) => {
    complaints += part.toString();
  });
  const ended = once(child, "exit");
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await ended;
    return child.exitCode;
  };
  let port: number | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const ready = /^drover ready http:\/\/[^:]+:(\d+)/.exec(line)?.[1];
    if (ready !== undefined) port = Number(ready);
    const loginUrl = /http:\/\/\S+\/login#\S+/.exec(line)?.[0];
    if (port !== undefined && loginUrl !== undefined) {
      const kill = async () => void (await end("SIGKILL"));
      return { port, pid: child.pid ?? 0, loginUrl, kill, stop: () => end("SIGTERM") };
    }
  }
  throw new Error(`drover up ended before it was ready: ${complaints}`);
}
