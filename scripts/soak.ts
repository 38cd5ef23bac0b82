/** Local sandboxes come and go for a while, and what could grow is counted:  npm run soak -- [minutes] [sandboxes]  (60, 50).
 *  Ends with a verdict, and with code 1 when something grew, was left over or failed. */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type EventStream } from "../packages/client/src/index.ts";
import { startDrover } from "../packages/testkit/src/drover-process.ts";
import { type Counted, createCounter } from "./soak/count.ts";
import { type Allowance, toGrowth } from "./soak/growth.ts";

const minutes = Number(process.argv[2] ?? 60);
const sandboxes = Number(process.argv[3] ?? 50);
const sampleMs = Math.min(60_000, (minutes * 60_000) / 12);
/** How often each agent does something, and for how long it does: five minutes, or a quarter of a short soak. */
const stepSeconds = 15;
const lookSeconds = 5;
const meanSeconds = Math.min(300, minutes * 15);
const adminToken = "drv_u_the-admin-of-the-soak-0123456789";
const dataDir = mkdtempSync(join(tmpdir(), "drover-soak-"));

const FIGURES = {
  serverMb: "MiB of the server",
  descriptors: "its descriptors",
  connections: "PostgreSQL connections",
  postgresMb: "MiB of PostgreSQL",
  helpers: "other children",
  directories: "directories of sandboxes",
  groups: "control groups",
  loops: "loop devices",
  inside: "processes in sandboxes",
  insideMb: "MiB in sandboxes",
} as const satisfies Record<keyof Counted, string>;
const NAMES = Object.keys(FIGURES) as (keyof typeof FIGURES)[];

/** What the second half may add. Counts breathe with the sandboxes that come and go; a garbage collection moves memory. */
const ALLOWANCES: Record<keyof Counted, Allowance> = {
  serverMb: { atLeast: 12, share: 0.05 },
  descriptors: { atLeast: 6, share: 0.05 },
  connections: { atLeast: 2, share: 0 },
  postgresMb: { atLeast: 12, share: 0.1 },
  helpers: { atLeast: 2, share: 0 },
  directories: { atLeast: 4, share: 0.05 },
  groups: { atLeast: 4, share: 0.05 },
  loops: { atLeast: 4, share: 0.05 },
  inside: { atLeast: 8, share: 0.05 },
  insideMb: { atLeast: 64, share: 0.05 },
};
/** After everything was removed, against before the first. Connections that are kept and the bytes of caches may stay. */
const LEFT_OVER: Partial<Record<keyof Counted, number>> = {
  descriptors: 4,
  helpers: 0,
  directories: 0,
  groups: 0,
  loops: 0,
  inside: 0,
};

const ENDED = new Set(["completed", "failed", "cancelled", "terminated"]);

const drover = await startDrover({
  dataDir,
  adminToken,
  warm: 1,
  environment: { DROVER_DEMO: "false", SANDBOX_MEMORY_GB: "0.25" },
});
const client = createClient({ baseUrl: `http://127.0.0.1:${drover.port}`, token: adminToken });
const { noteKeys, count } = createCounter(drover.pid, dataDir);

/** Each of another length, so that some end while others begin. */
const toBody = (n: number) => ({
  provider: "local" as const,
  runtime: "scripted" as const,
  prompt: `soak ${n}`,
  script: {
    steps: [
      {
        repeat: {
          times: Math.max(1, Math.round(((0.6 + 0.8 * ((n * 0.618) % 1)) * meanSeconds) / stepSeconds)),
          steps: [
            { text: "step {{round}}" },
            { edit: { path: "file.txt", content: "{{round}}\n" } },
            { wait: stepSeconds },
          ],
        },
      },
      { command: { argv: ["cat", "file.txt"] } },
    ],
  },
});

const running = new Map<string, EventStream>();
const totals = { made: 0, failed: 0, events: 0, messages: 0 };

/** Each is followed by a socket of its own and told something once. */
async function begin(): Promise<void> {
  totals.made += 1;
  const { id } = await client.createSandbox({ body: toBody(totals.made) });
  const stream = client.openStream({
    filter: { entity_ids: [id] },
    afterSeq: 0,
    onBatch: (frames) => void (totals.events += frames.length),
  });
  running.set(id, stream);
  await client.sendMessage({ params: { sandbox_id: id }, body: { content: "soak" } });
  totals.messages += 1;
}

/** Replaces what has ended; whatever is left of it is destroyed. Two at most begin in a second: nobody starts fifty at once. */
async function tend(isLooked: boolean): Promise<void> {
  for (const [id, stream] of isLooked ? running : []) {
    const { state, state_cause } = await client.getSandbox({ params: { sandbox_id: id } });
    if (!ENDED.has(state)) continue;
    if (state !== "completed") {
      totals.failed += 1;
      console.error(`soak: ${id} ${state}: ${state_cause}`);
    }
    running.delete(id);
    stream.close();
    await client.terminateSandbox({ params: { sandbox_id: id } });
  }
  for (let begun = 0; begun < 2 && running.size < sandboxes; begun += 1) await begin();
}

const samples: (Counted & { readonly minute: number })[] = [];
function sample(atMs: number): void {
  const counted = { ...count(), minute: atMs / 60_000 };
  samples.push(counted);
  const load = (loadavg()[0] ?? 0).toFixed(1);
  const cells = [counted.minute.toFixed(1), ...NAMES.map((name) => counted[name]), ...Object.values(totals), load];
  console.log(`| ${cells.join(" | ")} |`);
}

async function removeAll(): Promise<void> {
  for (const stream of running.values()) stream.close();
  running.clear();
  await client.pruneSandboxes({ body: { all: true } });
}

/** The one that stands ready is there before and after. */
async function awaitWarm(): Promise<Counted> {
  for (let tries = 0; count().inside === 0 && tries < 60; tries += 1) await sleep(1_000);
  await sleep(2_000);
  return count();
}

/** Removal goes on after the answer: it is given a minute to come to the figures of the beginning. */
async function settle(before: Counted): Promise<Counted> {
  for (let tries = 0; ; tries += 1) {
    const now = count();
    const isBack = Object.entries(LEFT_OVER).every(
      ([name, more]) => now[name as keyof Counted] <= before[name as keyof Counted] + more,
    );
    if (isBack || tries >= 60) return now;
    await sleep(1_000);
  }
}

console.log(
  `soak: ${minutes} minutes, ${sandboxes} sandboxes at once, ${availableParallelism()} processors, Node ${process.version}`,
);
const heads = ["minute", ...Object.values(FIGURES), ...Object.keys(totals), "load"];
console.log(`| ${heads.join(" | ")} |\n|${"---|".repeat(heads.length)}`);
const complaints: string[] = [];
const ending = new AbortController();
const stop = ending.signal;
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => ending.abort());
try {
  const before = await awaitWarm();
  const since = performance.now();
  for (let next = 0, ticks = 0; !stop.aborted && performance.now() - since < minutes * 60_000; ticks += 1) {
    await tend(ticks % lookSeconds === 0);
    noteKeys();
    const atMs = performance.now() - since;
    if (atMs >= next) {
      sample(atMs);
      next = atMs + sampleMs;
    }
    await sleep(1_000);
  }
  await removeAll();
  const after = await settle(before);

  console.log("\n| figure | before | second half adds | allowed | after | |\n|---|---|---|---|---|---|");
  for (const name of NAMES) {
    const { grown, allowed, isGrown } = toGrowth(
      samples.map((one) => ({ minute: one.minute, value: one[name] })),
      ALLOWANCES[name],
    );
    const left = LEFT_OVER[name];
    const isLeft = left !== undefined && after[name] > before[name] + left;
    if (isGrown) complaints.push(`${FIGURES[name]} grew by ${grown.toFixed(1)}`);
    if (isLeft) complaints.push(`${FIGURES[name]}: ${before[name]} before, ${after[name]} left`);
    const cells = [
      FIGURES[name],
      before[name],
      grown.toFixed(1),
      allowed.toFixed(1),
      after[name],
      isGrown || isLeft ? "**no**" : "yes",
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
  if (totals.failed > 0) complaints.push(`${totals.failed} of ${totals.made} runs did not complete`);
} finally {
  // Sandboxes outlive their server: those of a soak that was ended early too must go.
  await removeAll();
  await drover.stop();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
}
console.log(complaints.length === 0 ? "\nsoak: passed" : `\nsoak: FAILED: ${complaints.join("; ")}`);
process.exitCode = complaints.length === 0 ? 0 : 1;
