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
  setsid: "/usr/bin/setsid",
  sh: "/bin/sh",
};
const TEMPORARY_BYTES = 1024 * 1024 * 1024;
const CONTROL_FD = 3;
const SECCOMP_FD = 4;
const SAID_CHARACTERS = 2_000;

/** Notes who it is, joins the groups, goes first should the host run out of memory, then becomes the rest of its arguments. `setsid --fork` before it lets it outlive us. */
const NOTE_AND_JOIN = `set -eu
process=$1 groups=$2; shift 2
IFS='
'
for file in $groups; do echo $$ > "$file"; done
echo 1000 > /proc/self/oom_score_adj
cat /proc/$$/stat > "$process"
exec "$@"`;

/** As root, in a mount namespace of its own: the sandbox's uid need not be able to walk to these places. */
const SHOW_PLACES = `set -eu
workspace=$1 home=$2 sockets=$3 runtime=$4 image=$5 uid=$6 agents=$7; shift 7
mount -t tmpfs -o size=64k,mode=0711 drover /mnt
mkdir /mnt/workspace /mnt/home /mnt/sock /mnt/runtime
if [ -n "$image" ]; then
  mkdir -m 0700 ${IMAGE_MOUNT}
  mount -t ext4 -o ${IMAGE_MOUNT_OPTIONS} "$image" ${IMAGE_MOUNT}
  workspace=${IMAGE_MOUNT}/workspace home=${IMAGE_MOUNT}/home
  if [ ! -d "$home" ]; then
    mkdir -m 0700 "$workspace" "$home"
    chown "$uid:$uid" "$workspace" "$home"
  fi
fi
mount --bind "$workspace" /mnt/workspace
mount --bind "$home" /mnt/home
mount --bind "$sockets" /mnt/sock
mount --bind "$runtime" /mnt/runtime
IFS='
'
for agent in $agents; do
  mount --bind "\${agent#*=}" "/mnt/runtime/agents/\${agent%%=*}"
  mount -o remount,bind,ro "/mnt/runtime/agents/\${agent%%=*}"
done
exec "$@"`;
export const SHOWN: Mounts = {
  workspace: "/mnt/workspace",
  home: "/mnt/home",
  sockets: "/mnt/sock",
  runtime: "/mnt/runtime",
};

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
    mounts: options.uid === null ? own : SHOWN,
    agents: options.uid === null ? options.agents : [],
    seccompFd: buildSeccompFilter(process.arch) === undefined ? undefined : SECCOMP_FD,
    temporaryBytes: Math.min(TEMPORARY_BYTES, Math.floor(options.limits.memoryBytes / 2)),
    merged: mergedDirectories(),
    // Inside: what is limited before the user namespace is made counts all processes of this user, the server's too.
    command: [
      ...toLimits(options.limits, true),
      ...(options.runtime.hasLoader ? [`${INSIDE.runtime}/loader`] : []),
      `${INSIDE.runtime}/bin/node`,
      `${INSIDE.runtime}/supervisor.mjs`,
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
  `${mounts.runtime}/supervisor.mjs`,
];

function toArgv(options: LaunchOptions): readonly string[] {
  const { place, uid, limits } = options;
  const own = toOwn(options);
  const inner =
    options.bubblewrap === undefined
      ? [...toLimits(limits, uid !== null), ...toPlainArgv(uid === null ? own : SHOWN, place.key)]
      : toBubblewrapArgv(options, options.bubblewrap, own);
  const noted = [TOOLS.sh, "-c", NOTE_AND_JOIN, "sh", place.process, options.groupFiles.join("\n")];
  if (uid === null) return [TOOLS.setsid, "--fork", ...noted, TOOLS.env, "-i", ...inner];
  const unprivileged = [
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
  return [
    TOOLS.setsid,
    "--fork",
    TOOLS.unshare,
    "--mount",
    "--propagation",
    "private",
    "--",
    ...noted,
    TOOLS.sh,
    "-c",
    SHOW_PLACES,
    "sh",
    place.workspace,
    place.home,
    place.sockets,
    options.runtime.directory,
    options.hasImage ? place.image : "",
    String(uid),
    options.agents.map(({ name, directory }) => `${name}=${directory}`).join("\n"),
    ...unprivileged,
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

export async function launch(options: LaunchOptions): Promise<Boot> {
  const control = await openControlSocket(options.place);
  const filterPath = `${options.place.root}/seccomp`;
  await writeFile(filterPath, buildSeccompFilter(process.arch) ?? "");
  const filter = openSync(filterPath, "r");
  try {
    const handle = (control as unknown as { _handle: { fd: number } })._handle;
    const [program = "", ...args] = toArgv(options);
    const stdio: (number | "ignore" | "pipe")[] = ["ignore", "ignore", "pipe"];
    stdio[CONTROL_FD] = handle.fd;
    stdio[SECCOMP_FD] = filter;
    const child = spawn(program, args, { cwd: "/", env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }, stdio });
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
}
