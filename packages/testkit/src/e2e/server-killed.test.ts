/** The server is killed while sandboxes are made, run and end; afterwards every row is true, nothing is orphaned, nothing runs twice. */
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox } from "@drover/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, type Client } from "@drover/client";
import { startDrover, type DroverProcess } from "../drover-process.ts";
import { createDatabase, type TestDatabase } from "../postgres.ts";

const TOKEN = "drv_u_the-admin-of-the-killed-server";
const COUNT = 20;
const FACT_MS = 90_000;
/** Some stand ready, so that servers die while they make and claim those too. */
const WARM = 2;

let database: TestDatabase;
let dataDir: string;
let drover: DroverProcess;
let client: Client;

async function start(): Promise<void> {
  drover = await startDrover({ databaseUrl: database.url, dataDir, adminToken: TOKEN, warm: WARM });
  client = createClient({ baseUrl: `http://127.0.0.1:${drover.port}`, token: TOKEN });
}

beforeAll(async () => {
  database = await createDatabase();
  dataDir = await mkdtemp(join(tmpdir(), "drover-killed-"));
  await start();
});

afterAll(async () => {
  await drover.stop();
  await rm(dataDir, { recursive: true, force: true });
  await database.drop();
});

const list = async (): Promise<readonly Sandbox[]> => (await client.listSandboxes({ query: { limit: 100 } })).items;

/** What stands on this machine, by its notes. */
const listPlaces = (): readonly string[] =>
  globSync(join(dataDir, "sandboxes/*/process")).map((path) => path.split("/").at(-2) ?? "");
/** Of the server that runs: nobody asked for them. */
const isOwned = (key: string) => /^(?:warm|self-test)-/.test(key);
/** Keys of the sandboxes that stand. */
const standing = (): readonly string[] => listPlaces().filter((key) => !isOwned(key));
const listOwners = () =>
  new Set(
    listPlaces()
      .filter(isOwned)
      .map((key) => key.split("-").at(-3)),
  );

/** Outer bubblewraps per sandbox that are alive. */
function countAlive(key: string): number {
  const noted = readFileSync(join(dataDir, "sandboxes", key, "process"), "utf8");
  const pid = Number.parseInt(noted, 10);
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("bwrap") ? 1 : 0;
  } catch {
    return 0;
  }
}

const countStarts = async (id: string): Promise<number> =>
  (
    await client.listSandboxEvents({
      params: { sandbox_id: id as Sandbox["id"] },
      query: { event_type: "agent.started" },
    })
  ).total_count;

const script = (seconds: number) => ({ steps: [{ text: "working" }, { wait: seconds }, { text: "done" }] });

test(
  "twenty sandboxes survive a server that is killed while it makes, runs and ends them",
  { timeout: 420_000 },
  async () => {
    const asked: string[] = [];
    for (let index = 0; index < COUNT; index += 1) {
      const body = { runtime: "scripted", script: script(index % 2 === 0 ? 600 : 1), resources: { memory_gb: 0.5 } };
      const { id } = await client.createSandbox({ body });
      asked.push(id);
      // Some end while others are still being made.
      if (index % 5 === 4) await client.terminateSandbox({ params: { sandbox_id: asked[index - 2] as Sandbox["id"] } });
      if (index % 7 === 6) {
        await drover.kill();
        await start();
      }
    }
    await drover.kill();
    await start();

    const isSettled = async () => (await list()).every(({ state }) => state !== "pending" && state !== "creating");
    await expect.poll(isSettled, { timeout: 180_000 }).toBe(true);
    const rows = await list();
    expect(rows.map(({ id }) => id).toSorted()).toEqual(asked.toSorted());
    expect(
      rows.filter(({ state }) => state === "failed").map(({ id, state_cause }) => `${id}: ${state_cause}`),
    ).toEqual([]);

    // What stands is what the rows say stands, and each of them once.
    const open = rows.filter(({ state }) => state !== "terminated").map(({ id, generation }) => `${id}-g${generation}`);
    await expect.poll(() => [...standing()].toSorted(), { timeout: FACT_MS }).toEqual(open.toSorted());
    for (const key of open) expect(countAlive(key), key).toBe(1);
    await expect.poll(() => listOwners().size, { timeout: FACT_MS }).toBe(1);
    for (const { id, state } of rows) if (state !== "terminated") expect(await countStarts(id), id).toBe(1);

    // Those that were to work on still do, and can be spoken to.
    const running = rows.find(({ state }) => state === "running");
    expect(running).toBeDefined();
    if (running === undefined) return;
    const params = { sandbox_id: running.id };
    const { message_id } = await client.sendMessage({ params, body: { content: "are you there?" } });
    const isSeen = async () => (await client.listMessages({ params })).items.find(({ id }) => id === message_id)?.state;
    await expect.poll(isSeen, { timeout: FACT_MS }).toBe("seen");

    for (const { id } of rows) await client.terminateSandbox({ params: { sandbox_id: id } });
    await expect.poll(standing, { timeout: FACT_MS }).toEqual([]);
    await drover.stop();
    expect(listPlaces()).toEqual([]);
  },
);
