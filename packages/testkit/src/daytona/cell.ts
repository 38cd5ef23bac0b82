/** Where one sandbox of the emulator runs: bubblewrap around the toolbox, with directories that outlive a stop. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { awaitReady } from "../await-ready.ts";

const run = promisify(execFile);

const ROOT = join(import.meta.dirname, "../../../..");
const TOOLBOX = fileURLToPath(import.meta.resolve("./toolbox-main.ts"));
/** Of writable memory per process: nothing here may eat the machine. */
const DATA_BYTES = 1024 ** 3;
const KEPT = ["workspace", "home", "tmp"] as const;

/** Root inside, as in many images; nothing of the machine but its programs and this checkout, which holds the toolbox. */
function toArguments(directory: string, env: Readonly<Record<string, string>>): readonly string[] {
  const node = dirname(process.execPath);
  const variables = { PATH: `${node}:/usr/local/bin:/usr/bin:/bin`, HOME: "/home/daytona", ...env };
  const places = { tmp: "/tmp", run: "/run", workspace: "/workspace", home: "/home/daytona" };
  const files = ["/etc/alternatives", "/etc/ld.so.cache", "/etc/passwd", "/etc/group"];
  return [
    ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
    ["--uid", "0", "--gid", "0", "--die-with-parent", "--new-session", "--clearenv"],
    ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin"],
    ["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"],
    ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"],
    ...files.map((file) => ["--ro-bind-try", file, file]),
    ...Object.entries(places).map(([name, place]) => ["--bind", join(directory, name), place]),
    ["--ro-bind", ROOT, ROOT, "--ro-bind", node, node],
    ...Object.entries(variables).map(([name, value]) => ["--setenv", name, value]),
    ["--chdir", "/workspace", "--", process.execPath, TOOLBOX, "/run/toolbox.sock"],
  ].flat();
}

/** With modes and links as they are. */
async function copyFiles(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await run("cp", ["-a", ...KEPT.map((name) => join(from, name)), to]);
}

export interface Cell {
  /** Where the toolbox listens while the cell runs. */
  readonly socketPath: string;
  start(): Promise<void>;
  /** Ends every process; files stay. */
  stop(): Promise<void>;
  /** Holds every process in the middle of its work, or lets them go on. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  /** Copies its files to a directory of this machine. */
  copyTo(directory: string): Promise<void>;
  remove(): Promise<void>;
}

function readParent(pid: string): number | undefined {
  try {
    return Number(/^PPid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined; // expected: the process has just ended
  }
}

/** The process and all below it, as the machine counts them. */
function listDescendants(root: number): readonly number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), readParent(name)] as const);
  const below = (pid: number): readonly number[] => [
    pid,
    ...parents.flatMap(([child, parent]) => (parent === pid ? below(child) : [])),
  ];
  return below(root);
}

function sendSignal(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, name);
  } catch {
    // expected: the process has just ended
  }
}

export function openCell(directory: string, env: Readonly<Record<string, string>>, template: string | undefined): Cell {
  const sockets = join(directory, "run");
  let child: ChildProcess | undefined;
  let isPrepared = false;
  const prepare = async () => {
    isPrepared = true;
    for (const name of KEPT) await mkdir(join(directory, name), { recursive: true });
    if (template !== undefined) await copyFiles(template, directory);
  };
  const stop = async () => {
    const dying = child;
    child = undefined;
    if (dying === undefined || dying.exitCode !== null || dying.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => dying.once("exit", () => resolve()));
    dying.kill("SIGKILL");
    await gone;
  };
  return {
    socketPath: join(sockets, "toolbox.sock"),
    start: async () => {
      if (!isPrepared) await prepare();
      await rm(sockets, { recursive: true, force: true });
      await mkdir(sockets);
      child = spawn("prlimit", [`--data=${DATA_BYTES}`, "bwrap", ...toArguments(directory, env)], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: "/usr/bin:/bin" },
      });
      await awaitReady(child, "a sandbox of the emulator");
    },
    stop,
    signal: (name) => {
      for (const pid of child?.pid === undefined ? [] : listDescendants(child.pid)) sendSignal(pid, name);
    },
    copyTo: (target) => copyFiles(directory, target),
    remove: async () => {
      await stop();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
