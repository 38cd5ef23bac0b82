/** What is bundled, and from which sources. Everything else runs from source. */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { compressFiles } from "./compress-files.ts";
import { ROOT } from "./steps.ts";

export interface Bundle {
  readonly name: string;
  /** Without it there is nothing to build. */
  readonly entry: string;
  /** Where the result stands, and what a changed file outdates. */
  readonly dist: string;
  readonly sources: readonly string[];
  /** Writes the result into an empty folder. */
  readonly write: (folder: string) => Promise<void>;
}

export const WORKER_ENTRY = "packages/worker/src/main.ts";
export const WEB_ROOT = "packages/web";

const SUPERVISOR_ENTRY = "packages/worker/src/supervisor/main.ts";

/** One file that a plain Node runs: what comes into a sandbox has no `node_modules`. */
async function bundleProgram(entry: string) {
  const { rolldown } = await import("rolldown");
  return rolldown({
    input: join(ROOT, entry),
    cwd: ROOT,
    platform: "node",
    transform: { target: "node22" },
    logLevel: "warn",
  });
}

export const bundleWorker = () => bundleProgram(WORKER_ENTRY);

export const WORKER_OUTPUT = {
  format: "esm",
  codeSplitting: false,
  minify: true,
  banner: "#!/usr/bin/env node",
} as const;

async function writeWorker(folder: string): Promise<void> {
  await using bundle = await bundleWorker();
  await bundle.write({ ...WORKER_OUTPUT, file: join(folder, "worker.mjs") });
  await using supervisor = await bundleProgram(SUPERVISOR_ENTRY);
  // Not a module: Node is 4 ms sooner with it, of every sandbox that is made.
  await supervisor.write({ ...WORKER_OUTPUT, format: "cjs", file: join(folder, "supervisor.cjs") });
}

async function writeWeb(folder: string): Promise<void> {
  const { build } = await import("vite");
  await build({ root: join(ROOT, WEB_ROOT), logLevel: "warn", build: { outDir: folder, emptyOutDir: true } });
  // Beside the page, into which the server writes a run that is taken along.
  const configFile = join(ROOT, WEB_ROOT, "run-file.config.ts");
  await build({ configFile, logLevel: "warn", build: { outDir: folder, emptyOutDir: false } });
  await compressFiles(folder);
}

/** The web bundle in memory, to look at. */
export async function bundleWeb() {
  const { build } = await import("vite");
  const built = await build({ root: join(ROOT, WEB_ROOT), logLevel: "silent", build: { write: false } });
  if (!("output" in built)) throw new Error("vite built something else than one bundle");
  return built.output;
}

const CONTRACT = "packages/contract/src/**/*.ts";
const TOOLS = ["package-lock.json", "scripts/bundles.ts"];

export const BUNDLES: readonly Bundle[] = [
  {
    name: "worker",
    entry: WORKER_ENTRY,
    dist: "packages/worker/dist",
    sources: [...TOOLS, CONTRACT, "packages/worker/src/**/*.ts"],
    write: writeWorker,
  },
  {
    name: "web",
    entry: `${WEB_ROOT}/src/main.tsx`,
    dist: "packages/web/dist",
    sources: [
      ...TOOLS,
      "scripts/compress-files.ts",
      CONTRACT,
      "packages/client/src/**/*.{ts,tsx}",
      `${WEB_ROOT}/{index.html,vite.config.ts,run-file.config.ts}`,
      `${WEB_ROOT}/{src,public}/**/*.*`,
    ],
    write: writeWeb,
  },
];

const STAMP = ".sources";

/** The hash of everything the bundle is made from. Content, not times: a checkout or a restored cache changes times only. */
export function hashSources(bundle: Bundle): string {
  const hash = createHash("sha256");
  for (const file of globSync([...bundle.sources], { cwd: ROOT, exclude: ["**/*.test.ts", "**/*.test.tsx"] }).sort())
    hash
      .update(file)
      .update("\0")
      .update(readFileSync(join(ROOT, file)))
      .update("\0");
  return hash.digest("hex");
}

export function isFresh(bundle: Bundle): boolean {
  const stamp = join(ROOT, bundle.dist, STAMP);
  return existsSync(stamp) && readFileSync(stamp, "utf8") === hashSources(bundle);
}

export const canBuild = (bundle: Bundle): boolean => existsSync(join(ROOT, bundle.entry));

/** Builds aside and swaps, so that a server which serves the old result never sees half of the new one. */
export async function buildBundle(bundle: Bundle): Promise<void> {
  const dist = join(ROOT, bundle.dist);
  const fresh = `${dist}.${process.pid}.new`;
  const stale = `${dist}.${process.pid}.old`;
  const sources = hashSources(bundle);
  await mkdir(fresh, { recursive: true });
  await bundle.write(fresh);
  await writeFile(join(fresh, STAMP), sources);
  await mkdir(dirname(dist), { recursive: true });
  if (existsSync(dist)) await rename(dist, stale);
  await rename(fresh, dist);
  await rm(stale, { recursive: true, force: true });
}
