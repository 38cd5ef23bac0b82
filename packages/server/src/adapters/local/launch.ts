/** Starts bubblewrap so that it outlives this process, never with kernel uid 0, and with nothing of our environment. */
import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, closeSync, existsSync, lstatSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import type { Readable } from "node:stream";
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

/** Told by its stdin, when all that the sandbox is to find is there: its uid and the groups; until then it mounts what is there already. Then,
 *  in the background: joins the groups, goes first should the host run out of memory, sets its limits, and becomes the rest of its arguments,
 *  but only once its parent is gone: it outlives us, and bubblewrap ends with its parent. The parent ends when all is in place and it has noted
 *  who that is, so that whoever waits for it can find and end what it started; one that is not noted ends by itself, and so does one that is
 *  told nothing. It works where its sandbox's place is, whatever that is called by then. There is no environment, and what a shell adds on its own is taken back where it can be: bash insists on its level. */
const toScript = ({ words, first, limit, become, before, beside }: Work) => `set -eu
unset PWD
PATH=/usr/sbin:/usr/bin:/sbin:/bin
${words}${first}read -r uid
groups=
IFS='
'
while read -r file; do groups="$groups
$file"; done
{
  for file in $groups; do echo 0 > "$file"; done
  echo 1000 > /proc/self/oom_score_adj
${limit}  while read -r own < /proc/self/stat; do case $own in *") "?" $$ "*) ;; *) break ;; esac; done
  read -r noted < process
  [ "\${noted%% *}" = "\${own%% *}" ]
  cd /
  unset PWD OLDPWD
  exec ${become}"$@" > /dev/null < /dev/null
} &
sandbox=$!
${before}read -r noted < "/proc/$sandbox/stat"
echo "$noted" > process
${beside}`;

interface Work {
  /** Takes its own from the arguments. */
  readonly words: string;
  /** While it is not told anything. */
  readonly first: string;
  readonly limit: string;
  /** What it becomes on the way. */
  readonly become: string;
  /** Before the sandbox starts. */
  readonly before: string;
  /** While it starts. */
  readonly beside: string;
}

const NOTHING: Work = { words: "", first: "", limit: "", become: "", before: "", beside: "" };

/** As root, in a mount namespace of its own: the sandbox's uid need not be able to walk to these places. One program mounts them all:
 *  every further one would cost a sandbox 2 ms. The limits are the sandbox's own, since its uid is; files are counted in blocks of 512
 *  bytes, and shells differ in the letter for processes. */
const SHOW_PLACES: Work = {
  words: `table=$1 processes=$2 blocks=$3; shift 3
`,
  first: `mount --all --fstab "$table" 3>&- 4>&- &
mounting=$!
`,
  limit: `  ulimit -c 0
  ulimit -f "$blocks"
  ulimit -p "$processes" 2>/dev/null || ulimit -u "$processes"
`,
  become: `${TOOLS.setpriv} --reuid="$uid" --regid="$uid" --clear-groups --bounding-set=-all --inh-caps=-all -- `,
  before: `wait "$mounting"
`,
  beside: "",
};

/** Says when it has mounted what there is already, for whoever starts it ahead of its sandbox. */
const toAhead = (work: Work): Work => ({
  ...work,
  first: `mount --all --fstab "$table" 3>&- 4>&-
echo there
`,
  before: "",
});

/** A file system of its own takes longer to mount than bubblewrap takes to start. It is mounted beside that, over the empty directories that
 *  bubblewrap shows meanwhile, and comes through to them. A sandbox that does not get its own ends before anything runs in it. */
const MOUNT_IMAGE: Work = {
  ...SHOW_PLACES,
  words: `${SHOW_PLACES.words}options=$1 over=$2; shift 2
`,
  beside: `{
  mount -t ext4 -o "$options" disk.img ${IMAGE_MOUNT} &&
  { [ -d ${IMAGE_MOUNT}/home ] || install -d -m 0700 -o "$uid" -g "$uid" ${IMAGE_MOUNT}/workspace ${IMAGE_MOUNT}/home; } &&
  mount --all --fstab "$over" && echo mounted || kill -KILL "$sandbox"
} 3>&- 4>&- &`,
};
export const SHOWN: Mounts = {
  workspace: "/mnt/workspace",
  home: "/mnt/home",
  sockets: "/mnt/sock",
  runtime: "/mnt/runtime",
};
/** Nothing is written to it, and its flags are those of the file system that comes over it: bubblewrap finds either and changes neither. */
const EMPTY_OPTIONS = "size=4k,mode=0755,nosuid,nodev,relatime,shared";

const toField = (path: string) =>
  path.replaceAll(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`);

type MountRow = readonly [from: string, to: string, kind: string, options: string];

const toTable = (rows: readonly MountRow[]): string =>
  rows.map(([from, to, kind, how]) => `${toField(from)} ${toField(to)} ${kind} ${how} 0 0\n`).join("");

/** What is mounted before bubblewrap starts, in the form and order of an fstab. */
const toMountTable = ({ place, runtime, hasImage, agents }: LaunchOptions): string =>
  toTable([
    [runtime.places, "/mnt", "none", "bind"],
    ...[SHOWN.workspace, SHOWN.home].map((at, index): MountRow => {
      const own = index === 0 ? place.workspace : place.home;
      return hasImage ? ["none", at, "tmpfs", EMPTY_OPTIONS] : [own, at, "none", "bind"];
    }),
    [place.sockets, SHOWN.sockets, "none", "bind"],
    [runtime.directory, SHOWN.runtime, "none", "bind"],
    ...agents.map(({ name, directory }): MountRow => [directory, `${SHOWN.runtime}/agents/${name}`, "none", "bind,ro"]),
  ]);

/** What comes over the empty directories; the same for all. */
const IMAGE_TABLE = toTable([
  [`${IMAGE_MOUNT}/workspace`, SHOWN.workspace, "none", "bind"],
  [`${IMAGE_MOUNT}/home`, SHOWN.home, "none", "bind"],
]);

export interface LaunchOptions {
  readonly place: Place;
  readonly runtime: RuntimeFiles;
  /** Undefined: plain processes, because the operator said so. */
  readonly bubblewrap: string | undefined;
  /** Else everything inside has the server's uid. */
  readonly isRoot: boolean;
  readonly limits: SandboxLimits;
  /** Workspace and home lie in the file system of `place.image`. For root only. */
  readonly hasImage: boolean;
  readonly agents: readonly AgentMount[];
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
    mounts: options.isRoot ? SHOWN : own,
    agents: options.isRoot ? [] : options.agents,
    seccompFd: buildSeccompFilter(process.arch) === undefined ? undefined : SECCOMP_FD,
    temporaryBytes: Math.min(TEMPORARY_BYTES, Math.floor(options.limits.memoryBytes / 2)),
    merged: mergedDirectories(),
    // Inside: what is limited before the user namespace is made counts all processes of this user, the server's too.
    command: [
      ...(options.isRoot ? [] : toLimits(options.limits, true)),
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

function toArgv(options: LaunchOptions, imageTable: string, isAhead: boolean): readonly string[] {
  const { place, isRoot, limits } = options;
  const own = toOwn(options);
  const inner =
    options.bubblewrap === undefined
      ? [...(isRoot ? [] : toLimits(limits, false)), ...toPlainArgv(isRoot ? SHOWN : own, place.key)]
      : toBubblewrapArgv(options, options.bubblewrap, own);
  // What it is called says to whom it belongs.
  const toNoted = (work: Work) => [TOOLS.sh, "-c", toScript(work), place.process];
  if (!isRoot) return [...toNoted(NOTHING), ...inner];
  const work = options.hasImage ? MOUNT_IMAGE : SHOW_PLACES;
  return [
    TOOLS.unshare,
    "--mount",
    "--propagation",
    "private",
    "--",
    ...toNoted(isAhead ? toAhead(work) : work),
    place.mounts,
    String(limits.processes),
    String(Math.ceil(limits.diskBytes / 512)),
    ...(options.hasImage ? [IMAGE_MOUNT_OPTIONS, imageTable] : []),
    ...inner,
  ];
}

/** A listening socket for the supervisor. It is renamed, because closing our end of it removes the name it was made with. */
async function openControlSocket(place: Place): Promise<Server> {
  const temporary = `${place.control}.new`;
  rmSync(temporary, { force: true });
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(temporary, resolve));
  chmodSync(temporary, 0o600);
  renameSync(temporary, place.control);
  return server;
}

/** What is said while it starts. A pipe and not a file: nothing of the host stays open in the sandbox, and once our end is
 *  closed nobody inside can fill anything by writing to theirs. */
export interface Boot {
  said(): string;
  /** Until it has all its files. One that does not get them has ended. */
  readonly mounted: Promise<void>;
  close(): void;
}

/** What the shell says as it goes, once each. */
const LINES = { there: "there\n", mounted: "mounted\n" };

function listenLines(stdout: Readable | null, hasImage: boolean) {
  const [there, mounted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let text = "";
  stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.includes(LINES.there)) there.resolve();
    if (text.includes(LINES.mounted)) mounted.resolve();
  });
  stdout?.once("close", () => {
    there.reject(new AppError("sandbox.unavailable", "its places could not be mounted"));
    mounted.reject(new AppError("sandbox.unavailable", "its disk could not be mounted"));
  });
  if (!hasImage) mounted.resolve();
  for (const { promise } of [there, mounted])
    // Expected: it failed before anybody waits for this.
    promise.catch(() => undefined);
  return { there: there.promise, mounted: mounted.promise };
}

function listen(child: ChildProcess, hasImage: boolean): Boot & { readonly there: Promise<void> } {
  const { stdout, stderr } = child;
  let text = "";
  stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    if (text.length < SAID_CHARACTERS) text += chunk;
  });
  stderr?.on("error", () => undefined);
  return {
    said: () => text.trim().slice(0, SAID_CHARACTERS),
    ...listenLines(stdout, hasImage),
    close: () => {
      stdout?.destroy();
      stderr?.destroy();
    },
  };
}

/** The filter, which bubblewrap reads from a descriptor, and the table of mounts that all have, as files. */
async function ensureFiles(directory: string): Promise<{ readonly filter: string; readonly imageTable: string }> {
  const files = { filter: `${directory}/seccomp`, imageTable: `${directory}/image-mounts` };
  await writeFile(files.filter, buildSeccompFilter(process.arch) ?? "", { mode: 0o600 });
  await writeFile(files.imageTable, IMAGE_TABLE, { mode: 0o600 });
  return files;
}

/** What is decided while its shell starts. */
export interface Told {
  /** Null: the server is no root. */
  readonly uid: number | null;
  readonly groupFiles: readonly string[];
}

/** A shell that waits to be told. */
export interface Launched {
  /** Until it has mounted what is there already; said only by one that is started ahead. */
  readonly there: Promise<void>;
  /** False when it has ended, or was told. */
  isWaiting(): boolean;
  /** Resolves when the sandbox's first process stands and is noted. */
  tell(told: Told): Promise<Boot>;
  /** It will not be told anything. Resolves when it has ended. */
  leave(): Promise<void>;
}

/** `isAhead`: before anybody knows of its sandbox, in a place that is called something else later. */
export type Launch = (options: LaunchOptions, isAhead?: boolean) => Promise<Launched>;

const toFailure = (cause: unknown) =>
  new AppError("sandbox.unavailable", "the sandbox could not be started", { cause });

function toLaunched(child: ChildProcess, hasImage: boolean): Launched {
  const boot = listen(child, hasImage);
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => resolve());
  });
  // Expected: nobody waits for one that is left; and one that has ended already is not told.
  ended.catch(() => undefined);
  child.stdin?.on("error", () => undefined);
  return {
    there: boot.there,
    isWaiting: () => child.exitCode === null && child.signalCode === null && child.stdin?.writable === true,
    tell: async ({ uid, groupFiles }) => {
      child.stdin?.end(`${[uid ?? "", ...groupFiles].join("\n")}\n`);
      await ended.catch((cause: unknown) => {
        throw toFailure(cause);
      });
      return boot;
    },
    leave: async () => {
      child.stdin?.destroy();
      boot.close();
      await ended.catch(() => undefined);
    },
  };
}

/** `directory` is ours, and its files are the same for all. */
export async function openLaunch(directory: string): Promise<Launch> {
  const files = await ensureFiles(directory);
  return async (options, isAhead = false) => {
    if (options.isRoot) writeFileSync(options.place.mounts, toMountTable(options));
    const control = await openControlSocket(options.place);
    const filter = openSync(files.filter, "r");
    try {
      const handle = (control as unknown as { _handle: { fd: number } })._handle;
      const [program = "", ...args] = toArgv(options, files.imageTable, isAhead);
      const stdio: (number | "ignore" | "pipe")[] = ["pipe", options.hasImage || isAhead ? "pipe" : "ignore", "pipe"];
      stdio[CONTROL_FD] = handle.fd;
      stdio[SECCOMP_FD] = filter;
      // A session of its own, which no signal to ours reaches.
      const { root: cwd } = options.place;
      return toLaunched(spawn(program, args, { cwd, env: {}, stdio, detached: true }), options.hasImage);
    } catch (cause) {
      throw toFailure(cause);
    } finally {
      // The shell has both by now.
      closeSync(filter);
      control.close();
    }
  };
}
