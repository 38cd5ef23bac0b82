/** Where the processes of one pod run: bubblewrap around a small program that starts them, with the volumes and the user the pod asks for. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { V1Container, V1Pod } from "@kubernetes/client-node";
import { awaitReady } from "../await-ready.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const SHIM = fileURLToPath(import.meta.resolve("./shim-main.ts"));
/** Of writable memory per process: nothing here may eat the machine. */
const DATA_BYTES = 1024 ** 3;

export interface Execution {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly tty: boolean;
}

export interface Cell {
  start(): Promise<void>;
  /** Starts a process and speaks its frames: a channel, a length, bytes. */
  execute(execution: Execution): Socket;
  remove(): Promise<void>;
}

/** `$(NAME)` is a variable and `$$` a dollar, as the node replaces them. */
export const expand = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$\$|\$\(([^)]*)\)/g, (match, name: string | undefined) =>
    name === undefined ? "$" : (env[name] ?? match),
  );

export function toEnv(container: V1Container): Readonly<Record<string, string>> {
  const env: Record<string, string> = { PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin` };
  for (const { name, value = "" } of container.env ?? []) env[name] = expand(value, env);
  return env;
}

function toArguments(pod: V1Pod, container: V1Container, directory: string): readonly string[] {
  const node = dirname(process.execPath);
  const files = ["/etc/alternatives", "/etc/ld.so.cache", "/etc/passwd", "/etc/group"];
  const [own, general] = [container.securityContext, pod.spec?.securityContext];
  const runAsUser = own?.runAsUser ?? general?.runAsUser ?? 0;
  const runAsGroup = own?.runAsGroup ?? general?.runAsGroup ?? 0;
  return [
    ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
    ["--uid", String(runAsUser), "--gid", String(runAsGroup), "--die-with-parent", "--new-session", "--clearenv"],
    ...(container.securityContext?.capabilities?.drop ?? []).map((name) => ["--cap-drop", name]),
    ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin"],
    ["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"],
    ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"],
    ...files.map((file) => ["--ro-bind-try", file, file]),
    ["--bind", join(directory, "run"), "/run"],
    ...(container.volumeMounts ?? []).map((mount) => [
      "--bind",
      join(directory, "volumes", mount.name),
      mount.mountPath,
    ]),
    // After the volumes, which would hide a checkout below /tmp.
    ["--ro-bind", ROOT, ROOT, "--ro-bind", node, node],
    container.securityContext?.readOnlyRootFilesystem === true ? ["--remount-ro", "/"] : [],
    ["--", process.execPath, SHIM, "/run/shim.sock"],
  ].flat();
}

export function openCell(pod: V1Pod, container: V1Container, directory: string): Cell {
  let child: ChildProcess | undefined;
  return {
    start: async () => {
      await mkdir(join(directory, "run"), { recursive: true });
      for (const { name } of container.volumeMounts ?? [])
        await mkdir(join(directory, "volumes", name), { recursive: true });
      child = spawn("prlimit", [`--data=${DATA_BYTES}`, "bwrap", ...toArguments(pod, container, directory)], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: "/usr/bin:/bin" },
      });
      await awaitReady(child, "a pod of the emulator");
    },
    execute: (execution) => {
      const socket = connect(join(directory, "run", "shim.sock"));
      socket.write(`${JSON.stringify(execution)}\n`);
      return socket;
    },
    remove: async () => {
      const dying = child;
      child = undefined;
      if (dying !== undefined && dying.exitCode === null && dying.signalCode === null) {
        const gone = new Promise<void>((resolve) => dying.once("exit", () => resolve()));
        dying.kill("SIGKILL");
        await gone;
      }
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
