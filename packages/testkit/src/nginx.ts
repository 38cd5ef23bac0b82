/** A real nginx on the loopback, with the configuration that ships (`deploy/nginx.conf`) and other addresses. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { untilFact } from "./delivery/fact.ts";
import { findQuietPort } from "./quiet-port.ts";

const SHIPPED = join(import.meta.dirname, "../../../deploy/nginx.conf");
const READY_MS = 30_000;

export interface TestNginx extends AsyncDisposable {
  readonly url: string;
  /** What it complained of. */
  complaints(): string;
}

/** Only addresses and paths differ from what ships; a line that is not there any more is an error. */
function toOwn(shipped: string, directory: string, port: number, ports: readonly number[]): string {
  const upstream = ports.map((one) => `    server 127.0.0.1:${one} max_fails=0;`).join("\n");
  const changes = [
    [/\/tmp\/nginx/g, directory],
    [/listen 8080;/, `listen 127.0.0.1:${port};`],
    [/ {4}server server-a:18000 .*\n {4}server server-b:18000 .*/, upstream],
  ] as const;
  return changes.reduce((text, [from, to]) => {
    if (text.search(from) === -1) throw new Error(`deploy/nginx.conf has nothing like ${String(from)}`);
    return text.replace(from, to);
  }, shipped);
}

export async function startNginx(ports: readonly number[]): Promise<TestNginx> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "drover-nginx-")));
  const port = await findQuietPort();
  const path = join(directory, "nginx.conf");
  await writeFile(path, toOwn(await readFile(SHIPPED, "utf8"), directory, port, ports));
  const child = spawn("nginx", ["-c", path, "-e", "stderr", "-g", "daemon off;"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` },
  });
  let said = "";
  let failure: Error | undefined;
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (said = (said + text).slice(-20_000)));
  child.once("error", (cause) => void (failure = new Error("nginx is missing: apt-get install nginx", { cause })));
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const url = `http://127.0.0.1:${port}`;
  const isThere = async () => {
    if (failure !== undefined) throw failure;
    if (child.exitCode !== null) throw new Error(`nginx ended: ${said}`);
    // Expected: it does not listen yet.
    return fetch(`${url}/healthz`).then(
      () => true,
      () => false,
    );
  };
  await untilFact(() => "nginx answers", isThere, READY_MS, 20);
  return {
    url,
    complaints: () => said,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
      await gone;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
