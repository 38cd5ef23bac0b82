/** A private redis-server on a free port of the loopback, which a test may kill and start again on the same port. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TestRedis extends AsyncDisposable {
  readonly url: string;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** On the same port, with nothing in it. Resolves when it answers. */
  start(): Promise<void>;
}

async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}

function runRedis(port: number, dir: string): Promise<ChildProcess> {
  const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no"];
  const child = spawn("redis-server", options, { stdio: ["ignore", "pipe", "ignore"] });
  return new Promise((resolve, reject) => {
    child.once("error", (cause) =>
      reject(new Error("redis-server is missing: sudo apt-get install redis-server", { cause })),
    );
    child.once("exit", (code) => reject(new Error(`redis-server ended with ${code}`)));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (text.includes("Ready to accept connections")) resolve(child);
    });
  });
}

export async function startRedis(): Promise<TestRedis> {
  const port = await findFreePort();
  const dir = await mkdtemp(join(tmpdir(), "drover-redis-"));
  let child: ChildProcess | undefined = await runRedis(port, dir);
  const kill = async () => {
    const dying = child;
    child = undefined;
    if (dying === undefined) return;
    const gone = new Promise<void>((resolve) => dying.once("exit", () => resolve()));
    dying.kill("SIGKILL");
    await gone;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start: async () => {
      child ??= await runRedis(port, dir);
    },
    [Symbol.asyncDispose]: async () => {
      await kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
