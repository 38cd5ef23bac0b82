/** Real local sandboxes stand still and go on; what cannot be paused says so. */
import { AppError } from "@drover/contract";
import { describe, expect } from "vitest";
import { startLocal, test, untilSandbox } from "../../../testkit/src/local-sandbox.ts";
import type { TestServer } from "../../../testkit/src/server.ts";
import { reconcileSandboxesOnce } from "./reconcile-sandboxes.ts";
import { watchSandboxesOnce } from "./watch-sandboxes.ts";

const { signal } = new AbortController();
const pause = (server: TestServer, id: string) => server.call("POST", `/sandboxes/${id}/pause`);
const resume = (server: TestServer, id: string) => server.call("POST", `/sandboxes/${id}/resume`);

/** Runs `work` with a local provider that is another in the given way. */
async function withProvider(server: TestServer, change: object, work: () => Promise<void>): Promise<void> {
  const { providers } = server.deps;
  const open = async (name: Parameters<typeof providers.open>[0]) => ({ ...(await providers.open(name)), ...change });
  Object.assign(server.deps, { providers: { ...providers, open } });
  try {
    await work();
  } finally {
    Object.assign(server.deps, { providers });
  }
}

const TICKING = {
  steps: [{ command: { argv: ["sh", "-c", "while :; do date +%s%N > /workspace/ticks; sleep 0.05; done"] } }],
};

describe("a running sandbox", { timeout: 120_000 }, () => {
  test("stands still while it is paused, and goes on where it stood", async ({ server }) => {
    const id = await startLocal(server, { script: TICKING });
    const paused = await pause(server, id);
    expect(paused.status).toBe(200);
    const told = { id, state: "paused", state_cause: "user", health: "unknown", last_event_type: "STATE_CHANGED" };
    expect(paused.body).toMatchObject(told);
    expect(await pause(server, id)).toMatchObject({
      status: 409,
      body: { type: "urn:drover:error:sandbox.illegal_transition" },
    });
    expect(await server.call("POST", `/sandboxes/${id}/exec`, { body: { argv: ["true"] } })).toMatchObject({
      status: 409,
      body: { detail: "the sandbox is paused; resume it first" },
    });
    // Looking after sandboxes changes nothing: a paused one is neither lost nor dead.
    await watchSandboxesOnce(server.deps, signal);
    await reconcileSandboxesOnce(server.deps, signal);
    await untilSandbox(server, id, { state: "paused", health: "unknown" });

    // An hour of silence that nobody could break is not the worker's fault.
    await server.db.query({
      text: "update sandboxes set last_contact_at = now() - interval '1 hour' where id = $1",
      values: [id],
    });
    const resumed = await resume(server, id);
    expect(resumed).toMatchObject({ status: 200, body: { state: "running" } });
    expect((await server.call("GET", `/sandboxes/${id}`)).body).toMatchObject({ state: "running", health: "alive" });
    expect((await resume(server, id)).status).toBe(409);
    const read = async () =>
      (await server.call("POST", `/sandboxes/${id}/exec`, { body: { argv: ["cat", "ticks"] } })).body.stdout;
    const before = await read();
    await expect.poll(read).not.toBe(before);
  });

  test("tells of both in its log, once", async ({ server, local }) => {
    await pause(server, local);
    await resume(server, local);
    const { body } = await server.call("GET", `/sandboxes/${local}/events?event_type=STATE_CHANGED&order=desc&limit=2`);
    expect(body.events.map((event: { event_data: object }) => event.event_data)).toEqual([
      { from: "paused", to: "running", cause: "user" },
      { from: "running", to: "paused", cause: "user" },
    ]);
  });

  test("is as its row says when the next server takes it up, whichever step the last one died after", async ({
    server,
  }) => {
    const id = await startLocal(server, { script: TICKING });
    const provider = await server.deps.providers.open("local");
    const ref = { key: `${id}-g1`, id: `${id}-g1`, labels: {} };
    const takeUp = async () => {
      server.deps.adopted.delete(ref.key);
      expect(await reconcileSandboxesOnce(server.deps, signal)).toMatchObject({ adopted: 1 });
      return (await provider.info(ref, signal))?.state;
    };
    await provider.pause(ref, signal);
    expect(await takeUp()).toBe("running");
    await pause(server, id);
    await provider.resume(ref, signal);
    expect(await takeUp()).toBe("paused");
    await untilSandbox(server, id, { state: "paused" });
  });

  test("can be ended while it is paused", async ({ server }) => {
    const id = await startLocal(server);
    await pause(server, id);
    expect((await server.call("POST", `/sandboxes/${id}/cancel`)).body).toMatchObject({ state: "cancelled" });
    await untilSandbox(server, id, { state: "cancelled", last_event_type: "TERMINATED" });
    expect((await server.call("POST", `/sandboxes/${id}/cancel`)).status).toBe(200);
    expect((await resume(server, id)).status).toBe(409);
  });
});

describe("what cannot be", { timeout: 120_000 }, () => {
  test("a provider without the capability is 422 and named", async ({ server, local }) => {
    const provider = await server.deps.providers.open("local");
    await withProvider(server, { capabilities: { ...provider.capabilities, pause: false } }, async () => {
      expect(await pause(server, local)).toMatchObject({
        status: 422,
        body: { detail: "provider local cannot pause sandboxes" },
      });
    });
    await untilSandbox(server, local, { state: "running" });
  });

  test("a provider that is away is 503, and the row says what is true", async ({ server, local }) => {
    const away = async () => {
      throw new AppError("sandbox.unavailable", "away");
    };
    await withProvider(server, { pause: away }, async () => expect((await pause(server, local)).status).toBe(503));
    await untilSandbox(server, local, { state: "running" });
    await pause(server, local);
    await withProvider(server, { resume: away }, async () => expect((await resume(server, local)).status).toBe(503));
    await untilSandbox(server, local, { state: "paused", state_cause: "it could not be resumed" });
    expect((await resume(server, local)).status).toBe(200);
  });

  test("work that ends while it is being paused goes on to its end", async ({ server }) => {
    const id = await startLocal(server);
    const provider = await server.deps.providers.open("local");
    const late: typeof provider.pause = async (ref, given) => {
      await provider.pause(ref, given);
      await server.db.query({ text: "update sandboxes set state = 'completed' where id = $1", values: [id] });
    };
    await withProvider(server, { pause: late }, async () => expect((await pause(server, id)).status).toBe(409));
    const ran = await server.call("POST", `/sandboxes/${id}/exec`, { body: { argv: ["echo", "awake"] } });
    expect(ran.body).toMatchObject({ stdout: "awake\n" });
  });

  test("a sandbox that Drover did not make is 422", async ({ server, sandbox }) => {
    expect((await pause(server, sandbox.id)).status).toBe(422);
    expect((await resume(server, sandbox.id)).status).toBe(422);
  });

  test("one that has ended is not cancelled any more", async ({ server, sandbox }) => {
    await server.call("DELETE", `/sandboxes/${sandbox.id}`);
    expect((await server.call("POST", `/sandboxes/${sandbox.id}/cancel`)).status).toBe(409);
  });

  test("cancelling an external sandbox ends it at once", async ({ server, sandbox }) => {
    const { body } = await server.call("POST", `/sandboxes/${sandbox.id}/cancel`);
    expect(body).toMatchObject({ state: "cancelled", last_event_type: "TERMINATED" });
    expect((await sandbox.post({ event_type: "agent.message" })).status).toBe(401);
  });
});
