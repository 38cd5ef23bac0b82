/** Local sandboxes come and go for a while, and what could grow is counted every minute:  npm run soak -- [minutes] [sandboxes]  (60, 50). */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const minutes = Number(process.argv[2] ?? 60);
const sandboxes = Number(process.argv[3] ?? 50);
const sampleMs = Math.min(60_000, (minutes * 60_000) / 6);
const token = "drv_u_the-admin-of-the-soak-0123456789";
const dataDir = mkdtempSync(join(tmpdir(), "drover-soak-"));
const child = spawn(process.execPath, ["packages/cli/src/main.ts", "up"], {
  stdio: ["ignore", "pipe", "inherit"],
  env: {
    ...process.env,
    DROVER_PORT: "0",
    DROVER_DATA_DIR: dataDir,
    DROVER_ADMIN_TOKEN: token,
    DROVER_LOG_LEVEL: "error",
    DROVER_DEMO: "false",
    SANDBOX_MEMORY_GB: "0.25",
  },
});
const gone = new Promise<void>((resolve) => void child.once("exit", () => resolve()));
let url = "";
for await (const line of createInterface({ input: child.stdout })) {
  url = /^drover ready (\S+)/.exec(line)?.[1] ?? "";
  if (url !== "") break;
}
if (url === "") throw new Error("the server did not start");

async function call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Half a minute of talk and tools, different for each, so that some end while others begin. */
const toBody = (n: number) => ({
  provider: "local",
  runtime: "scripted",
  prompt: `soak ${n}`,
  script: {
    steps: [
      {
        repeat: {
          times: 60 + (n % 40),
          steps: [{ text: "step {{round}}" }, { edit: { path: "file.txt", content: "{{round}}\n" } }, { wait: 0.5 }],
        },
      },
    ],
  },
});

const readStatus = (pid: number, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);

function countDescendants(root: number): number {
  const parents = new Map<number, number>();
  for (const pid of readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)) {
    try {
      parents.set(pid, readStatus(pid, "PPid"));
    } catch {
      // Expected: it has just ended.
    }
  }
  const isBelow = (pid: number): boolean => pid === root || (parents.has(pid) && isBelow(parents.get(pid) ?? 0));
  return [...parents.keys()].filter((pid) => pid !== root && isBelow(pid)).length;
}

const ENDED = new Set(["completed", "failed", "cancelled", "terminated"]);
const running = new Set<string>();
let made = 0;
let failed = 0;

/** Replaces what has ended; whatever is left of it is destroyed. */
async function tend(): Promise<void> {
  for (const id of running) {
    const { state } = await call("GET", `/sandboxes/${id}`);
    if (!ENDED.has(String(state))) continue;
    if (state === "failed") failed += 1;
    running.delete(id);
    await call("DELETE", `/sandboxes/${id}`);
  }
  while (running.size < sandboxes) running.add(String((await call("POST", "/sandboxes", toBody((made += 1))))["id"]));
}

const rows: string[] = [];
const pid = child.pid ?? 0;
const sample = (atMs: number) => {
  const standing = readdirSync(join(dataDir, "sandboxes"), { withFileTypes: true }).filter((one) => one.isDirectory());
  const cells = [
    (atMs / 60_000).toFixed(1),
    Math.round(readStatus(pid, "VmRSS") / 1_024),
    readdirSync(`/proc/${pid}/fd`).length,
    countDescendants(pid),
    standing.length,
    made,
    failed,
  ];
  rows.push(`| ${cells.join(" | ")} |`);
  console.log(rows.at(-1));
};

console.log(`soak: ${minutes} minutes, ${sandboxes} sandboxes at once`);
console.log(
  "| minute | MiB of the server | descriptors | processes below it | directories of sandboxes | made | failed |",
);
console.log("|---|---|---|---|---|---|---|");
const since = performance.now();
try {
  for (let next = 0; performance.now() - since < minutes * 60_000;) {
    await tend();
    const atMs = performance.now() - since;
    if (atMs >= next) {
      sample(atMs);
      next += sampleMs;
    }
    await sleep(1_000);
  }
  await call("POST", "/sandboxes/prune", { all: true });
  sample(performance.now() - since);
} finally {
  child.kill("SIGTERM");
  await gone;
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
}
