/** Starts bubblewrap so that it outlives this process, never with kernel uid 0, and with nothing of our environment. */
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, existsSync, lstatSync, openSync } from "node:fs";
import { chmod, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { AppError } from "@drover/contract";
import type { AgentMount, SandboxLimits } from "../../ports/sandbox-provider.ts";
import { INSIDE, MERGED_DIRECTORIES, SEARCH_PATH, toBubblewrapArgs, type Mounts } from "./bubblewrap.ts";
import type { Place } from "./places.ts";
import type { RuntimeFiles } from "./runtime-files.ts";
import { IMAGE_MOUNT, IMAGE_MOUNT_OPTIONS } from "./disk-image.ts";
import { buildSeccompFilter } from "./seccomp.ts";

const TOOLS = {
  env: "/usr/bin/env",
  setpriv: "/usr/bin/setpriv",
  prlimit: "/usr/bin/prlimit",
  unshare: "/usr/bin/unshare",
  sh: "/bin/sh",
};
const TEMPORARY_BYTES = 1024 * 1024 * 1024;
const CONTROL_FD = 3;
const SECCOMP_FD = 4;
const SAID_CHARACTERS = 2_000;

/** Joins the groups, goes first should the host run out of memory, notes who it is, does what is to be done, then becomes the rest of
 *  its arguments. In the background, so that its parent ends at once: it outlives us, and bubblewrap ends with its parent. */
const toScript = (work: string) => `set -eu
process=$1 groups=$2; shift 2
IFS='
'
{
  for file in $groups; do echo 0 > "$file"; done
  echo 1000 > /proc/self/oom_score_adj
  read -r noted < /proc/self/stat
  echo "$noted" > "$process"
${work}  exec "$@"
} &`;

/** As root, in a mount namespace of its own: the sandbox's uid need not be able to walk to these places. One program mounts them all:
 *  every further one would cost a sandbox 2 ms. The limits are the sandbox's own, since its uid is; files are counted in blocks of 512
 *  bytes, and shells differ in the letter for processes. */
const SHOW_PLACES = `  table=$1 uid=$2 workspace=$3 home=$4 processes=$5 blocks=$6; shift 6
  mount --all --fstab "$table"
  [ -d "$home" ] || install -d -m 0700 -o "$uid" -g "$uid" "$workspace" "$home"
  ulimit -c 0
  ulimit -f "$blocks"
  ulimit -p "$processes" 2>/dev/null || ulimit -u "$processes"
`;
export const SHOWN: Mounts = {
  workspace: "/mnt/workspace",
  home: "/mnt/home",
  sockets: "/mnt/sock",
  runtime: "/mnt/runtime",
};
/** Where workspace and home lie in a file system of their own. */
const SHOWN_IN_IMAGE: Mounts = { ...SHOWN, workspace: `${IMAGE_MOUNT}/workspace`, home: `${IMAGE_MOUNT}/home` };

const toField = (path: string) =>
  path.replaceAll(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`);

/** What is mounted before bubblewrap starts, in the form and order of an fstab. */
function toMountTable({ place, runtime, hasImage, agents }: LaunchOptions): string {
  const rows: (readonly [string, string, string, string])[] = [
    [runtime.places, "/mnt", "none", "bind"],
    ...(hasImage
      ? [[place.image, IMAGE_MOUNT, "ext4", IMAGE_MOUNT_OPTIONS] as const]
      : [
          [place.workspace, SHOWN.workspace, "none", "bind"] as const,
          [place.home, SHOWN.home, "none", "bind"] as const,
        ]),
    [place.sockets, SHOWN.sockets, "none", "bind"],
    [runtime.directory, SHOWN.runtime, "none", "bind"],
    ...agents.map(({ name, directory }) => [directory, `${SHOWN.runtime}/agents/${name}`, "none", "bind,ro"] as const),
  ];
  return rows.map(([from, to, kind, how]) => `${toField(from)} ${toField(to)} ${kind} ${how} 0 0\n`).join("");
}

export interface LaunchOptions {
  readonly place: Place;
  readonly runtime: RuntimeFiles;
  /** Undefined: plain processes, because the operator said so. */
  readonly bubblewrap: string | undefined;
  /** Null: the server is no root; everything inside has its uid. */
  readonly uid: number | null;
  readonly limits: SandboxLimits;
  /** Workspace and home lie in the file system of `place.image`. Needs a uid. */
  readonly hasImage: boolean;
  readonly agents: readonly AgentMount[];
  readonly groupFiles: readonly string[];
}

/** A variable by which plain processes are found again, wherever they went. */
export const PLAIN_MARK = "DROVER_PLAIN_SANDBOX";

/** Directories of the host that are links into /usr. */
const mergedDirectories = () =>
  MERGED_DIRECTORIES.filter((name) => existsSync(`/${name}`) && lstatSync(`/${name}`).isSymbolicLink());

const toLimits = (limits: SandboxLimits, isAlone: boolean): readonly string[] => [
  TOOLS.prlimit,
  ...(isAlone ? [`--nproc=${limits.processes}`] : []),
  `--fsize=${limits.diskBytes}`,
  "--core=0",
  "--",
];

const toBubblewrapArgv = (options: LaunchOptions, bubblewrap: string, own: Mounts): readonly string[] => [
  bubblewrap,
  ...toBubblewrapArgs({
    mounts: options.uid === null ? own : options.hasImage ? SHOWN_IN_IMAGE : SHOWN,
    agents: options.uid === null ? options.agents : [],
    seccompFd: buildSeccompFilter(process.arch) === undefined ? undefined : SECCOMP_FD,
    temporaryBytes: Math.min(TEMPORARY_BYTES, Math.floor(options.limits.memoryBytes / 2)),
    merged: mergedDirectories(),
    // Inside: what is limited before the user namespace is made counts all processes of this user, the server's too.
    command: [
      ...(options.uid === null ? toLimits(options.limits, true) : []),
      ...(options.runtime.hasLoader ? [`${INSIDE.runtime}/loader`] : []),
      `${INSIDE.runtime}/bin/node`,
      `${INSIDE.runtime}/supervisor.cjs`,
    ],
  }),
];

const toOwn = ({ place, runtime }: LaunchOptions): Mounts => ({
  workspace: place.workspace,
  home: place.home,
  sockets: place.sockets,
  runtime: runtime.directory,
});

/** Nothing but another uid, limits and an empty environment: for machines without bubblewrap, and only when asked for. */
const toPlainArgv = (mounts: Mounts, key: string): readonly string[] => [
  TOOLS.setpriv,
  "--no-new-privs",
  TOOLS.env,
  "-i",
  `--chdir=${mounts.workspace}`,
  `HOME=${mounts.home}`,
  `PATH=${SEARCH_PATH.replace(INSIDE.runtime, mounts.runtime)}`,
  "USER=agent",
  "LANG=C.UTF-8",
  "SUPERVISOR_NO_FORWARDER=1",
  `${PLAIN_MARK}=${key}`,
  `${mounts.runtime}/bin/node`,
  `${mounts.runtime}/supervisor.cjs`,
];

function toArgv(options: LaunchOptions): readonly string[] {
  const { place, uid, limits } = options;
  const own = toOwn(options);
  const inner =
    options.bubblewrap === undefined
      ? [...(uid === null ? toLimits(limits, false) : []), ...toPlainArgv(uid === null ? own : SHOWN, place.key)]
      : toBubblewrapArgv(options, options.bubblewrap, own);
  const toNoted = (work: string) => [
    TOOLS.sh,
    "-c",
    toScript(work),
    "sh",
    place.process,
    options.groupFiles.join("\n"),
  ];
  if (uid === null) return [...toNoted(""), TOOLS.env, "-i", ...inner];
  const { workspace, home } = options.hasImage ? SHOWN_IN_IMAGE : SHOWN;
  return [
    TOOLS.unshare,
    "--mount",
    "--propagation",
    "private",
    "--",
    ...toNoted(SHOW_PLACES),
    place.mounts,
    String(uid),
    workspace,
    home,
    String(limits.processes),
    String(Math.ceil(limits.diskBytes / 512)),
    TOOLS.env,
    "-i",
    TOOLS.setpriv,
    `--reuid=${uid}`,
    `--regid=${uid}`,
    "--clear-groups",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--",
    ...inner,
  ];
}

/** A listening socket for the supervisor. It is renamed, because closing our end of it removes the name it was made with. */
async function openControlSocket(place: Place): Promise<Server> {
  const temporary = `${place.control}.new`;
  await rm(temporary, { force: true });
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(temporary, resolve));
  await chmod(temporary, 0o600);
  await rename(temporary, place.control);
  return server;
}

/** What is said while it starts. A pipe and not a file: nothing of the host stays open in the sandbox, and once our end is
 *  closed nobody inside can fill anything by writing to theirs. */
export interface Boot {
  said(): string;
  close(): void;
}

function listen({ stderr }: ChildProcess): Boot {
  let text = "";
  stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    if (text.length < SAID_CHARACTERS) text += chunk;
  });
  stderr?.on("error", () => undefined);
  return { said: () => text.trim().slice(0, SAID_CHARACTERS), close: () => stderr?.destroy() };
}

/** The filter as a file, which bubblewrap reads from a descriptor. */
async function ensureFilter(directory: string): Promise<string> {
  const path = `${directory}/seccomp`;
  await writeFile(path, buildSeccompFilter(process.arch) ?? "", { mode: 0o600 });
  return path;
}

export type Launch = (options: LaunchOptions) => Promise<Boot>;

/** `directory` is ours, and its files are the same for all. */
export async function openLaunch(directory: string): Promise<Launch> {
  const filterPath = await ensureFilter(directory);
  return async (options) => {
    const [control] = await Promise.all([
      openControlSocket(options.place),
      options.uid === null ? undefined : writeFile(options.place.mounts, toMountTable(options)),
    ]);
    const filter = openSync(filterPath, "r");
    try {
      const handle = (control as unknown as { _handle: { fd: number } })._handle;
      const [program = "", ...args] = toArgv(options);
      const stdio: (number | "ignore" | "pipe")[] = ["ignore", "ignore", "pipe"];
      stdio[CONTROL_FD] = handle.fd;
      stdio[SECCOMP_FD] = filter;
      // A session of its own, which no signal to ours reaches.
      const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
      const child = spawn(program, args, { cwd: "/", env, stdio, detached: true });
      const boot = listen(child);
      await new Promise<void>((resolve, reject) => {
        child.once("error", reject);
        child.once("exit", () => resolve());
      });
      return boot;
    } catch (cause) {
      throw new AppError("sandbox.unavailable", "the sandbox could not be started", { cause });
    } finally {
      closeSync(filter);
      await new Promise<void>((resolve) => control.close(() => resolve()));
    }
  };
}
