/** A dockerd of its own directory: no other engine, image or container of this machine is touched. */
import { spawn, type ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import type { Readable } from "node:stream";

const READY_LIMIT_MS = 90_000;
const LOOK_EVERY_MS = 50;
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const FIX = "sudo apt-get install --no-install-recommends docker.io, and run this as root";

/** `none`: containers have the machine's network or none at all. `apart`: the engine stands in a network of its own, where it makes networks
 *  for containers and nothing leads outside; the machine's rules, ports and mounts stay as they are. */
export type Network = "none" | "apart";

const COMMANDS: Readonly<Record<Network, readonly string[]>> = {
  none: ["dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"],
  apart: ["unshare", "--net", "--mount", "sh", "-c", 'ip link set lo up && exec dockerd "$@"', "dockerd"],
};

export interface Dockerd extends AsyncDisposable {
  /** `unix://…` */
  readonly host: string;
  readonly socket: string;
  /** Whose network is the engine's. */
  readonly pid: number;
  /** Ends the engine and every container in it; its files stay. */
  stop(): Promise<void>;
}

/** One request to the engine; the body of the answer when it succeeded. */
export function askEngine(socketPath: string, method: string, path: string, body?: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath, method, path, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
      answer.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        if (answer.statusCode === 200) resolve(text);
        else reject(new Error(`${method} ${path}: ${answer.statusCode} ${text}`));
      });
    });
    asking.on("error", reject);
    if (body === undefined) asking.end();
    else body.pipe(asking);
  });
}

async function untilReady(daemon: ChildProcess, socket: string, log: string): Promise<void> {
  const deadline = performance.now() + READY_LIMIT_MS;
  const isReady = () =>
    askEngine(socket, "GET", "/_ping").then(
      () => true,
      () => false,
    ); // expected: not yet listening
  while (!(await isReady())) {
    if (daemon.exitCode !== null || performance.now() > deadline) {
      const said = await readFile(log, "utf8").catch(() => "");
      throw new Error(`dockerd did not start; ${FIX}\n${said.slice(-2_000)}`);
    }
    await new Promise<void>((resolve) => void setTimeout(resolve, LOOK_EVERY_MS));
  }
}

async function stop(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => daemon.once("exit", () => resolve()));
  daemon.kill("SIGTERM");
  await gone;
}

/** What it stores lies in `directory`: a second one started there after the first has its images. */
export async function startDockerd(directory: string, network: Network): Promise<Dockerd> {
  const socket = join(directory, "docker.sock");
  const log = join(directory, "log");
  const places = [
    `--data-root=${directory}/data`,
    `--exec-root=${directory}/exec`,
    `--pidfile=${directory}/docker.pid`,
    `--host=unix://${socket}`,
  ];
  const script = 'log=$1; shift; exec "$@" > "$log" 2>&1';
  const env = { PATH: SYSTEM_PATH, HOME: directory };
  const daemon = spawn("sh", ["-c", script, "sh", log, ...COMMANDS[network], ...places], { env, stdio: "ignore" });
  try {
    await untilReady(daemon, socket, log);
  } catch (error) {
    await stop(daemon);
    throw error;
  }
  return {
    host: `unix://${socket}`,
    socket,
    pid: daemon.pid ?? 0,
    stop: () => stop(daemon),
    [Symbol.asyncDispose]: () => stop(daemon),
  };
}
