/** Making sandboxes: one that takes long holds up nobody, can be ended meanwhile, and outlasts a stop of the server. */
import { existsSync } from "node:fs";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxId } from "@drover/contract";
import { expect, onTestFinished } from "vitest";
import { startLocal, test, untilSandbox } from "../../../testkit/src/local-sandbox.ts";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import type { SandboxProvider } from "../ports/sandbox-provider.ts";
import { loadSandbox } from "../store/sandboxes.ts";
import { reconcileSandboxesOnce } from "./reconcile-sandboxes.ts";
import { watchSandboxesOnce } from "./watch-sandboxes.ts";

const { signal } = new AbortController();

/** A host of repositories that takes every connection and never says a word. */
async function startMuteHost(): Promise<{ readonly repo: string; readonly asked: Promise<unknown> }> {
  const sockets = new Set<Socket>();
  const host = createServer((socket) => sockets.add(socket.on("error", () => undefined)));
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    host.close();
  });
  return {
    repo: `http://127.0.0.1:${(host.address() as AddressInfo).port}/slow.git`,
    asked: once(host, "connection"),
  };
}

const create = async (server: TestServer, repo?: string): Promise<SandboxId> =>
  (await server.call("POST", "/sandboxes", { body: { provider: "local", runtime: "scripted", repo } })).body.id;
const eventsOf = async (server: TestServer, id: SandboxId) =>
  (await server.call("GET", `/sandboxes/${id}/events?order=asc`)).body.events as {
    event_type: string;
    event_data: { step?: string; status?: string };
  }[];
/** Changes the local provider of a server. */
async function changeLocal(
  server: TestServer,
  change: (local: SandboxProvider) => Partial<SandboxProvider>,
): Promise<void> {
  const { providers } = server.deps;
  const local = await providers.open("local");
  Object.assign(server.deps, { providers: { ...providers, open: async () => ({ ...local, ...change(local) }) } });
  onTestFinished(() => void Object.assign(server.deps, { providers }));
}
const isThere = (server: TestServer, id: SandboxId) => existsSync(join(server.dataDir, "sandboxes", `${id}-g1`));

test("a repository that does not come holds up no other sandbox, and what waits for it is ended at once", async ({
  server,
}) => {
  const { repo, asked } = await startMuteHost();
  const slow = await create(server, repo);
  await asked;
  const quick = await startLocal(server);
  expect(isThere(server, slow)).toBe(true);

  await server.call("DELETE", `/sandboxes/${slow}`);
  await untilSandbox(server, slow, { state: "terminated", last_event_type: "TERMINATED" });
  expect(isThere(server, slow)).toBe(false);
  // Nothing failed, and nothing was told after its end.
  const steps = (await eventsOf(server, slow)).filter(({ event_type }) => event_type === "sandbox.provisioning");
  expect(steps.map(({ event_data: { step, status } }) => `${step} ${status}`)).toEqual(["environment done"]);
  await untilSandbox(server, quick, { state: "running" });
});

test("one that nobody has begun to make is over when it is ended", async ({ server }) => {
  const { making } = server.deps;
  for (let place = 0; place < 8; place += 1)
    making.set(`drover-00000000-00000${place}` as SandboxId, { done: Promise.resolve(), end: () => undefined });
  onTestFinished(() => making.clear());
  const id = await create(server);
  expect((await server.call("DELETE", `/sandboxes/${id}`)).body).toMatchObject({ state: "terminated", generation: 1 });
  await untilSandbox(server, id, { last_event_type: "TERMINATED" });
  expect((await eventsOf(server, id)).map(({ event_type }) => event_type)).toEqual([
    "SPAWNED",
    "STATE_CHANGED",
    "TERMINATED",
  ]);
});

test("what this server made is not taken over from itself: its agents' connections stay", async ({ server, local }) => {
  await untilSandbox(server, local, { state: "running" });
  expect(await reconcileSandboxesOnce(server.deps, signal)).toEqual({
    adopted: 0,
    destroyed: 0,
    left: expect.any(Number),
  });
});

test("one that could not be looked at when a server took up what stands is taken up by the next pass", async ({
  server,
  local,
}) => {
  await untilSandbox(server, local, { state: "running" });
  server.deps.adopted.delete(`${local}-g1`);
  let isBusy = true;
  await changeLocal(server, ({ info }) => ({
    info: async (...given) => {
      if (isBusy) throw new Error("the provider has other things to do");
      return info(...given);
    },
  }));
  expect(await reconcileSandboxesOnce(server.deps, signal)).toMatchObject({ adopted: 0 });
  isBusy = false;
  expect(await reconcileSandboxesOnce(server.deps, signal)).toMatchObject({ adopted: 1 });
});

test.for([
  ["before it speaks", "creating"],
  ["when it has spoken", "running"],
] as const)(
  "a worker whose server dies %s and before it is noted works on, and is not started twice",
  async ([, state]) => {
    const database = await createDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), "drover-begun-"));
    onTestFinished(async () => {
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    });
    const first = await startTestServer({ database, dataDir });
    const started = Promise.withResolvers<void>();
    await changeLocal(first, ({ startDetached }) => ({
      startDetached: async (ref, command, ending) => {
        await startDetached(ref, command, ending);
        started.resolve();
        await once(ending, "abort");
        throw ending.reason;
      },
    }));
    const script = { steps: [{ text: "working" }, { wait_for_message: { seconds: 600 } }] };
    const { body } = await first.call("POST", "/sandboxes", {
      body: { provider: "local", runtime: "scripted", script },
    });
    const id = body.id as SandboxId;
    await started.promise;
    const load = () => loadSandbox.one(database.db, id);
    if (state === "running") await expect.poll(load).toMatchObject({ state });
    await first.stop();
    expect(await load()).toMatchObject({ provisioned_at: null });

    const second = await startTestServer({ database, dataDir });
    onTestFinished(async () => {
      await second.call("POST", "/sandboxes/prune", { body: { all: true } });
      await second.stop();
    });
    await untilSandbox(second, id, { state: "running", provider_id: `${id}-g1` });
    expect(await watchSandboxesOnce(second.deps, signal)).toEqual({ ended: 0 });
    expect(
      (await second.call("POST", `/sandboxes/${id}/messages`, { body: { content: "are you there?" } })).status,
    ).toBe(200);
    await untilSandbox(second, id, { state: "completed" });
    const starts = (await eventsOf(second, id)).filter(({ event_type }) => event_type === "agent.started");
    expect(starts).toHaveLength(1);
  },
);

test("a server that stops while it makes one leaves it to the next, and has not failed it", async () => {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  const { repo, asked } = await startMuteHost();
  const server = await startTestServer({ database });
  const id = await create(server, repo);
  await asked;
  await server.stop();
  expect(await loadSandbox.one(database.db, id)).toMatchObject({ state: "creating", provisioned_at: null });
  const events = await database.db.query({
    text: "select event_type, event_data from events where sandbox_id = $1",
    values: [id],
  });
  expect(JSON.stringify(events)).not.toContain("failed");
});
