/** What ships in a bundle, what does not, and how large it may be. */
import { relative } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundleWeb, bundleWorker, WORKER_OUTPUT } from "../../../../scripts/bundles.ts";
import { ROOT } from "../../../../scripts/steps.ts";

const KB = 1_000;
/** All runtimes are in it; agents themselves are not. */
const WORKER_LIMIT = 500 * KB;
const FIRST_LOAD_LIMIT = 180 * KB;
/** What a page or a part of one may bring when it is opened. */
const LATER_LOAD_LIMIT = 130 * KB;

/** `packages/x` for our own modules, the npm name for others; built-ins and virtual modules have no owner. */
function findOwners(modules: readonly string[]): readonly string[] {
  const owners = modules.flatMap((module) => {
    const path = relative(ROOT, module);
    const npm = path.split("node_modules/").at(-1) ?? "";
    if (npm !== path) return /^(?:@[^/]+\/)?[^/]+/.exec(npm)?.[0] ?? [];
    return /^packages\/[^/]+/.exec(path)?.[0] ?? [];
  });
  return [...new Set(owners)].toSorted();
}

const SERVER_SIDE = [
  "packages/server",
  "packages/core",
  "packages/cli",
  "packages/testkit",
  "pg",
  "fastify",
  "ioredis",
  "pino",
];

test("the worker is one small file without server, database or web framework", async () => {
  await using bundle = await bundleWorker();
  const { output } = await bundle.generate(WORKER_OUTPUT);
  expect(output.map((file) => file.type)).toEqual(["chunk"]);
  const [chunk] = output;
  const owners = findOwners(chunk.moduleIds);
  expect(owners).toEqual(expect.arrayContaining(["packages/worker", "packages/contract"]));
  expect(owners.filter((owner) => [...SERVER_SIDE, "packages/client", "packages/web"].includes(owner))).toEqual([]);
  expect(chunk.imports.filter((name) => !name.startsWith("node:"))).toEqual([]);
  expect(chunk.code.length).toBeLessThan(WORKER_LIMIT);
}, 120_000);

test("the web page loads little at first, and holds no server code", async () => {
  const output = await bundleWeb();
  const chunks = new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file]] : [])));
  const owners = findOwners([...chunks.values()].flatMap((chunk) => chunk.moduleIds));
  expect(owners).toEqual(expect.arrayContaining(["packages/web", "packages/client", "react"]));
  expect(owners.filter((owner) => [...SERVER_SIDE, "packages/worker"].includes(owner))).toEqual([]);

  // Parts that need each other would find the other one empty when they start.
  const isDone = new Map<string, boolean>();
  const circles: string[] = [];
  const walk = (name: string, way: readonly string[]): void => {
    if (isDone.get(name) === false) circles.push([...way.slice(way.indexOf(name)), name].join(" -> "));
    if (isDone.has(name)) return;
    isDone.set(name, false);
    for (const next of chunks.get(name)?.imports ?? []) walk(next, [...way, name]);
    isDone.set(name, true);
  };
  for (const name of chunks.keys()) walk(name, []);
  expect(circles).toEqual([]);

  const visit = (name: string, seen: Set<string>): Set<string> => {
    if (seen.has(name)) return seen;
    seen.add(name);
    for (const next of chunks.get(name)?.imports ?? []) visit(next, seen);
    return seen;
  };
  const sizes = new Map([...chunks].map(([name, { code }]) => [name, gzipSync(code).length]));
  const toBytes = (names: Iterable<string>) => [...names].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
  const first = new Set<string>();
  for (const chunk of chunks.values()) if (chunk.isEntry) visit(chunk.fileName, first);
  expect(toBytes(first)).toBeGreaterThan(0);
  expect(toBytes(first)).toBeLessThanOrEqual(FIRST_LOAD_LIMIT);
  // What brings a part in is there already.
  const heavy = [...chunks.values()]
    .filter((chunk) => chunk.isDynamicEntry)
    .map(({ fileName }) => {
      const around = [...chunks.values()].filter(({ dynamicImports }) => dynamicImports.includes(fileName));
      const known = around.map((chunk) => visit(chunk.fileName, new Set(first)));
      const news = [...visit(fileName, new Set())].filter((name) => !known.every((names) => names.has(name)));
      return [fileName, toBytes(news)] as const;
    });
  expect(heavy.filter(([, bytes]) => bytes > LATER_LOAD_LIMIT)).toEqual([]);
}, 120_000);
