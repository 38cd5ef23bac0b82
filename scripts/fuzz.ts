/** A hundred thousand requests that know the contract and break it, against the product in a process of its own. `FUZZ_SEED` repeats a
 *  run, `FUZZ_REQUESTS` changes its length. */
import { randomInt } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDrover } from "../packages/testkit/src/drover-process.ts";
import { floodWithGarbage } from "../packages/testkit/src/fuzz/flood.ts";

const ADMIN = "drv_u_the-admin-of-the-flood";
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const requests = Number(process.env.FUZZ_REQUESTS ?? 100_000);

async function readResident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}

const dataDir = await mkdtemp(join(tmpdir(), "drover-fuzz-"));
/** Nothing leaves this machine: a GitHub that knows no repository, since one that does not answer is an honest 503. */
const github = createServer((_request, response) => void response.writeHead(404).end());
// A connection that is kept is never closed under a request.
github.keepAliveTimeout = 0;
await new Promise<void>((done) => void github.listen(0, "127.0.0.1", done));
const { port } = github.address() as AddressInfo;
const GITHUB_URL = `http://127.0.0.1:${port}`;
const environment = { SANDBOX_PROVIDER: "daytona", GITHUB_URL, GITHUB_API_URL: GITHUB_URL };
const drover = await startDrover({ dataDir, adminToken: ADMIN, environment });
const origin = `http://127.0.0.1:${drover.port}`;
console.log(`fuzz: ${requests} requests, seed ${seed}`);
const first = await readResident(drover.pid);
const began = Date.now();
const { byStatus, findings, failures } = await floodWithGarbage({
  origin,
  adminToken: ADMIN,
  seed,
  requests,
  atOnce: 16,
  onProgress: (sent) => console.log(`fuzz: ${sent} sent`),
});
const isWell = (await fetch(`${origin}/readyz`)).status === 200;
const last = await readResident(drover.pid);
await drover.stop();
github.close();
github.closeAllConnections();
await rm(dataDir, { recursive: true, force: true });

const statuses = [...byStatus].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
console.log(`fuzz: ${requests} requests in ${Math.round((Date.now() - began) / 1000)} s; ${statuses.join(", ")}`);
console.log(`fuzz: memory ${first} MiB before, ${last} MiB after; ${isWell ? "ready" : "NOT READY"} at the end`);
for (const finding of findings) console.log(`- ${finding}`);
console.log(failures === 0 && isWell ? `fuzz: seed ${seed} passed` : `fuzz: seed ${seed} failed, ${failures} findings`);
process.exitCode = failures === 0 && isWell ? 0 : 1;
