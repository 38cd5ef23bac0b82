/**
 * Puts platform packages back into package-lock.json that the registry at hand does not serve. npm leaves such optional
 * packages out of the lock and `npm ci` then refuses it (https://github.com/npm/cli/issues/9846). Run it after every `npm install`
 * that changed the lock; with `--check` it only tells what is missing.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./steps.ts";

interface Entry {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

interface Lock {
  readonly packages: Record<string, Entry>;
}

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm64", "arm", "x64", "ia32", "ppc64", "riscv64", "s390x", "loong64", "mips64el", "wasm32"];

/** What the name says of the platform, so that npm skips the package elsewhere without asking for it. */
function toPlatform(name: string): Readonly<Record<string, readonly string[]>> {
  const words = name.split(/[/-]/);
  const os = SYSTEMS.filter((system) => words.includes(system));
  const cpu = PROCESSORS.filter((processor) => words.includes(processor));
  const libc = words.some((word) => word.startsWith("musl"))
    ? ["musl"]
    : words.some((word) => word.startsWith("gnu"))
      ? ["glibc"]
      : [];
  return {
    ...(os.length > 0 && { os }),
    ...(cpu.length > 0 && { cpu }),
    ...(libc.length > 0 && os.includes("linux") && { libc }),
  };
}

/** Beside the package that wants it, where npm puts its siblings; a workspace's stand at the root. */
const toFolder = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf("node_modules/"))) + "node_modules/";

/** As npm writes them: the version, then the others by name. */
const sortFields = ({ version, ...others }: Entry): Entry => ({
  version,
  ...Object.fromEntries(Object.entries(others).toSorted(([a], [b]) => (a < b ? -1 : 1))),
});

function findMissing(lock: Lock): readonly (readonly [string, Entry])[] {
  return Object.entries(lock.packages).flatMap(([path, wants]) =>
    Object.entries(wants.optionalDependencies ?? {}).flatMap(([name, version]) => {
      const place = toFolder(path) + name;
      const platform = toPlatform(name);
      if (place in lock.packages || `${path}/node_modules/${name}` in lock.packages) return [];
      if (!/^\d+\.\d+\.\d+\S*$/.test(version) || Object.keys(platform).length === 0) return [];
      const { dev, devOptional } = wants;
      const kind = { ...(dev === true && { dev }), ...(devOptional === true && { devOptional }) };
      return [[place, sortFields({ version, ...platform, ...kind, optional: true })] as const];
    }),
  );
}

const file = join(ROOT, "package-lock.json");
const lock: Lock = JSON.parse(readFileSync(file, "utf8"));
const missing = findMissing(lock);

if (process.argv.includes("--check")) {
  for (const [place] of missing) console.error(`package-lock.json lacks ${place}; run: node scripts/complete-lock.ts`);
  process.exitCode = missing.length > 0 ? 1 : 0;
} else if (missing.length > 0) {
  const packages = [...Object.entries(lock.packages), ...missing].toSorted(([a], [b]) => a.localeCompare(b, "en"));
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`);
  console.log(`added ${missing.length} platform packages to package-lock.json`);
}
