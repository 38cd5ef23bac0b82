/** The command line of a local sandbox: what is in it, and nothing else. */
import type { AgentMount } from "../../ports/sandbox-provider.ts";
import { toAgentPlace } from "./shown-agents.ts";

export interface Mounts {
  readonly workspace: string;
  readonly home: string;
  readonly sockets: string;
  /** Our own files, read-only: node, supervisor, worker, /etc. */
  readonly runtime: string;
}

export const INSIDE = {
  workspace: "/workspace",
  home: "/home/agent",
  sockets: "/run/cp",
  runtime: "/opt/drover",
} as const;
export const SEARCH_PATH = `${INSIDE.runtime}/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin`;

const NAMESPACES = ["user", "pid", "ipc", "uts", "net"].map((name) => `--unshare-${name}`);

const MERGED = ["bin", "sbin", "lib", "lib64", "lib32"];

export interface CommandLineOptions {
  readonly mounts: Mounts;
  /** Bound by bubblewrap itself; where we are root they are bound into `mounts.runtime` before. */
  readonly agents: readonly AgentMount[];
  readonly seccompFd: number | undefined;
  readonly temporaryBytes: number;
  /** Directories of the host that are links into /usr, by name. */
  readonly merged: readonly string[];
  readonly command: readonly string[];
}

export const MERGED_DIRECTORIES: readonly string[] = MERGED;

export function toBubblewrapArgs(options: CommandLineOptions): readonly string[] {
  const { mounts } = options;
  return [
    ...NAMESPACES,
    "--unshare-cgroup-try",
    "--uid",
    "1000",
    "--gid",
    "1000",
    "--hostname",
    "sandbox",
    // The user namespace is our own and the last one: nobody inside makes another.
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/usr",
    "/usr",
    ...options.merged.flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    // Files under /proc/sys are writable to kernel uid 0, and bwrap leaves them so: cover them ourselves.
    "--proc",
    "/proc",
    "--ro-bind",
    "/proc/sys",
    "/proc/sys",
    "--dev",
    "/dev",
    "--size",
    String(options.temporaryBytes),
    "--perms",
    "1777",
    "--tmpfs",
    "/tmp",
    "--size",
    "16777216",
    "--tmpfs",
    "/run",
    "--size",
    "67108864",
    "--tmpfs",
    "/var",
    "--perms",
    "1777",
    "--dir",
    "/var/tmp",
    "--size",
    String(options.temporaryBytes),
    "--perms",
    "1777",
    "--tmpfs",
    "/dev/shm",
    // In memory too, and without a size: what lies there would count for nobody where there are no control groups.
    "--remount-ro",
    "/dev",
    "--ro-bind",
    `${mounts.runtime}/etc`,
    "/etc",
    "--ro-bind",
    mounts.runtime,
    INSIDE.runtime,
    ...options.agents.flatMap(({ name, directory }) => ["--ro-bind", directory, toAgentPlace(INSIDE.runtime, name)]),
    "--bind",
    mounts.home,
    INSIDE.home,
    "--bind",
    mounts.workspace,
    INSIDE.workspace,
    "--ro-bind",
    mounts.sockets,
    INSIDE.sockets,
    "--remount-ro",
    "/",
    ...(options.seccompFd === undefined ? [] : ["--seccomp", String(options.seccompFd)]),
    "--setenv",
    "HOME",
    INSIDE.home,
    "--setenv",
    "PATH",
    SEARCH_PATH,
    "--setenv",
    "USER",
    "agent",
    "--setenv",
    "LANG",
    "C.UTF-8",
    "--chdir",
    INSIDE.workspace,
    "--",
    ...options.command,
  ];
}
