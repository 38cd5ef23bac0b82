/** Runs every benchmark, one after another, and rewrites bench/RESULTS.md. With names it runs those only, and writes nothing. */
import { spawn } from "node:child_process";
import { globSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type } from "node:os";
import { basename, join } from "node:path";
import { parseResults, type Result } from "./result.ts";

const HERE = import.meta.dirname;

interface Outcome {
  readonly name: string;
  readonly results: readonly Result[];
  readonly code: number;
}

function runBench(file: string): Promise<Outcome> {
  const name = basename(file, ".bench.ts");
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const child = spawn(process.execPath, [join(HERE, file)], {
    cwd: join(HERE, ".."),
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    process.stdout.write(chunk);
  });
  child.on("error", reject).on("close", (code) => resolve({ name, results: parseResults(output), code: code ?? 1 }));
  return promise;
}

const number = (value: number | null) =>
  value === null ? "-" : String(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)));

const row = (r: Result) =>
  `| ${[
    r.id,
    r.title,
    `${number(r.ours)} ${r.unit}`,
    number(r.floor),
    number(r.ratio),
    r.target,
    r.met ? "yes" : "**no**",
    r.n,
    number(r.p50),
    number(r.p95),
    number(r.p99),
    r.note,
  ].join(" | ")} |`;

function machine(): string {
  const [cpu] = cpus();
  return `${cpus().length} x ${cpu?.model.trim() ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}, Node ${process.version}`;
}

const toPage = (outcomes: readonly Outcome[]): string =>
  [
    "# Results",
    "",
    "Written by `npm run bench`; what the columns mean is in `bench/README.md`. Compare ratios, not times: both sides of a",
    "ratio were measured in the same run.",
    "",
    `- date: ${new Date().toISOString().slice(0, 10)}`,
    `- machine: ${machine()}`,
    `- load average of the machine's last minute before the run: ${loadBefore.toFixed(1)}; above 0.5 something else ran on it too,`,
    "  which slows a chain of processes (ours) more than a single one (most floors)",
    "",
    "| # | figure | ours | floor | ratio | target | met | n | p50 | p95 | p99 | note |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ...outcomes
      .flatMap((outcome) => outcome.results)
      .toSorted((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }))
      .map(row),
    "",
  ].join("\n");

const [loadBefore = 0] = loadavg();
const names = process.argv.slice(2);
const files = globSync("*.bench.ts", { cwd: HERE })
  .sort()
  .filter((file) => names.length === 0 || names.some((name) => file.startsWith(name)));

const outcomes: Outcome[] = [];
for (const file of files) {
  console.log(`\n== ${basename(file, ".bench.ts")}`);
  outcomes.push(await runBench(file));
}

const broken = outcomes.filter((outcome) => outcome.code !== 0 || outcome.results.length === 0);
for (const outcome of broken)
  console.error(`${outcome.name} ended with ${outcome.code} and ${outcome.results.length} results`);
if (files.length === 0) console.error("no benchmark of that name");
process.exitCode = broken.length > 0 || files.length === 0 ? 1 : 0;

if (names.length === 0 && process.exitCode === 0) {
  const page = toPage(outcomes);
  writeFileSync(join(HERE, "RESULTS.md"), page);
  console.log(`\n${page}`);
}
