/** Starts bubblewrap so that it outlives this process, never with kernel uid 0, and with nothing of our environment. */
import { spawn } from "node:child_process";
import { closeSync, existsSync, lstatSync, openSync } from "node:fs";
import { chmod, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { AppError } from "@drover/contract";
import type { SandboxLimits } from "../../ports/sandbox-provider.ts";
import { INSIDE, MERGED_DIRECTORIES, toBubblewrapArgs, type Mounts } from "./bubblewrap.ts";
import type { Place } from "./places.ts";
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

/** Notes who it is, joins the groups, then becomes the rest of its arguments. `setsid --fork` before it lets it outlive us. */
const NOTE_AND_JOIN = `set -eu
process=$1 groups=$2; shift 2
IFS='
'
for file in $groups; do echo $$ > "$file"; done
cat /proc/$$/stat > "$process"
exec "$@"`;

/** As root, in a mount namespace of its own: the sandbox's uid need not be able to walk to these places. */
const SHOW_PLACES = `set -eu
workspace=$1 home=$2 sockets=$3 runtime=$4; shift 4
mount -t tmpfs -o size=64k,mode=0711 drover /mnt
mkdir /mnt/workspace /mnt/home /mnt/sock /mnt/runtime
mount --bind "$workspace" /mnt/workspace
mount --bind "$home" /mnt/home
mount --bind "$sockets" /mnt/sock
mount --bind "$runtime" /mnt/runtime
exec "$@"`;
const SHOWN: Mounts = { workspace: "/mnt/workspace", home: "/mnt/home", sockets: "/mnt/sock", runtime: "/mnt/runtime" };

export interface LaunchOptions {
  readonly place: Place;
  readonly runtime: string;
  readonly bubblewrap: string;
  /** Null: the server is no root; everything inside has its uid. */
  readonly uid: number | null;
  readonly limits: SandboxLimits;
  readonly groupFiles: readonly string[];
}

/** Directories of the host that are links into /usr. */
const mergedDirectories = () =>
  MERGED_DIRECTORIES.filter((name) => existsSync(`/${name}`) && lstatSync(`/${name}`).isSymbolicLink());

function toArgv(options: LaunchOptions): readonly string[] {
  const { place, uid, limits } = options;
  const own: Mounts = {
    workspace: place.workspace,
    home: place.home,
    sockets: place.sockets,
    runtime: options.runtime,
  };
  const bubblewrap = [
    options.bubblewrap,
    ...toBubblewrapArgs({
      mounts: uid === null ? own : SHOWN,
      seccompFd: buildSeccompFilter(process.arch) === undefined ? undefined : SECCOMP_FD,
      temporaryBytes: Math.min(TEMPORARY_BYTES, Math.floor(limits.memoryBytes / 2)),
      merged: mergedDirectories(),
      command: [`${INSIDE.runtime}/bin/node`, `${INSIDE.runtime}/supervisor.mjs`],
    }),
  ];
  const limited = [
    TOOLS.prlimit,
    `--nproc=${limits.processes}`,
    `--fsize=${limits.diskBytes}`,
    "--core=0",
    "--",
    ...bubblewrap,
  ];
  const noted = [TOOLS.sh, "-c", NOTE_AND_JOIN, "sh", place.process, options.groupFiles.join("\n")];
  if (uid === null) return [TOOLS.setsid, "--fork", ...noted, TOOLS.env, "-i", ...limited];
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
    ...limited,
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
    options.runtime,
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

export async function launch(options: LaunchOptions): Promise<void> {
  const control = await openControlSocket(options.place);
  const filterPath = `${options.place.root}/seccomp`;
  await writeFile(filterPath, buildSeccompFilter(process.arch) ?? "");
  const log = openSync(options.place.bootLog, "w", 0o600);
  const filter = openSync(filterPath, "r");
  try {
    const handle = (control as unknown as { _handle: { fd: number } })._handle;
    const [program = "", ...args] = toArgv(options);
    const stdio: (number | "ignore")[] = ["ignore", log, log];
    stdio[CONTROL_FD] = handle.fd;
    stdio[SECCOMP_FD] = filter;
    const child = spawn(program, args, { cwd: "/", env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }, stdio });
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => resolve());
    });
  } catch (cause) {
    throw new AppError("sandbox.unavailable", "the sandbox could not be started", { cause });
  } finally {
    closeSync(log);
    closeSync(filter);
    await new Promise<void>((resolve) => control.close(() => resolve()));
  }
}
