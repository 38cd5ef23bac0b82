/** Two servers as `drover up` starts them, on one PostgreSQL and one Redis behind one nginx; killed on demand, and started again. */
import { hostname } from "node:os";
import { join } from "node:path";
import { startDrover, type DroverProcess } from "../drover-process.ts";
import { startNginx, type TestNginx } from "../nginx.ts";
import { findQuietPort } from "../quiet-port.ts";
import { ADMIN_TOKEN } from "./server-under-fire.ts";

export interface ReplicasUnderFire extends AsyncDisposable {
  /** Of the proxy. */
  readonly url: string;
  readonly count: number;
  nameOf(index: number): string;
  /** Ends one of them, as a power cut would or as an operator does; resolves to the name under which it held claims. */
  end(index: number, how: "kill" | "stop"): Promise<string>;
  /** Resolves when it serves. */
  begin(index: number): Promise<void>;
}

export interface ReplicasOptions {
  readonly directory: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const COUNT = 2;

export async function startReplicas(options: ReplicasOptions): Promise<ReplicasUnderFire> {
  const ports: number[] = [];
  while (ports.length < COUNT) {
    const port = await findQuietPort();
    if (!ports.includes(port)) ports.push(port);
  }
  const lives: (DroverProcess | undefined)[] = [];
  const begin = async (index: number) => {
    lives[index] = await startDrover({
      databaseUrl: options.databaseUrl,
      dataDir: join(options.directory, `replica-${index}`),
      adminToken: ADMIN_TOKEN,
      environment: {
        NODE_COMPILE_CACHE: join(options.directory, "compiled"),
        REDIS_URL: options.redisUrl,
        DROVER_PORT: String(ports[index]),
        DROVER_DEMO: "false",
        DIAGNOSTIC_ENABLED: "false",
        DATABASE_POOL_SIZE: "8",
        ...options.environment,
      },
    });
  };
  const nameOf = (index: number) => `${hostname()}:${lives[index]?.pid ?? 0}`;
  const end: ReplicasUnderFire["end"] = async (index, how) => {
    const name = nameOf(index);
    const life = lives[index];
    lives[index] = undefined;
    await (how === "kill" ? life?.kill() : life?.stop());
    return name;
  };
  const endAll = () => Promise.all(lives.map(async (life) => life?.stop()));
  let nginx: TestNginx | undefined;
  try {
    // One after the other the first time: the first one compiles what the other then finds.
    for (const index of ports.keys()) await begin(index);
    nginx = await startNginx(ports);
  } catch (error) {
    await endAll();
    throw error;
  }
  const proxy = nginx;
  return {
    url: proxy.url,
    count: COUNT,
    nameOf,
    end,
    begin,
    [Symbol.asyncDispose]: async () => {
      await endAll();
      await proxy[Symbol.asyncDispose]();
    },
  };
}
