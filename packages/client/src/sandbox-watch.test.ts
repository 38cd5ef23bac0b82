import { expect, test as base } from "vitest";
import { fastTimers, until } from "../test/facts.ts";
import { SANDBOX, ServerDouble } from "../test/server-double.ts";
import { createClient } from "./create-client.ts";
import { SandboxWatch } from "./sandbox-watch.ts";

const MESSAGE = "msg-000000000001";

const RESOURCE = {
  id: SANDBOX,
  project_id: "project-00000000-0000-4000-8000-000000000000",
  task_id: null,
  state: "creating",
  state_cause: null,
  generation: 1,
  provider: "external",
  provider_id: null,
  runtime: null,
  model: null,
  prompt: null,
  repo: null,
  base_branch: null,
  branch: null,
  labels: {},
  network: "allowlist",
  resources: null,
  enforced_by: null,
  health: "unknown",
  turn: 0,
  event_count: 0,
  last_seq: 0,
  last_event_type: null,
  last_event_at: null,
  last_heartbeat_at: null,
  created_at: "2026-01-01T00:00:00Z",
  started_at: null,
  ended_at: null,
};

interface Fixture {
  readonly server: ServerDouble;
  readonly watch: SandboxWatch;
  /** How the next attempts to send end; an answer when empty. */
  readonly refusals: Response[];
  readonly keys: (string | null)[];
}

const test = base.extend<{ page: Fixture }>({
  page: async ({}, use) => {
    const server = new ServerDouble();
    await server.start();
    const refusals: Response[] = [];
    const keys: (string | null)[] = [];
    const fetch: typeof globalThis.fetch = async (address, init) => {
      if (typeof address === "string" && address.endsWith(SANDBOX)) return Response.json(RESOURCE);
      if (init?.method !== "POST") return server.fetch(address, init);
      keys.push(new Headers(init.headers).get("idempotency-key"));
      const refusal = refusals.shift();
      if (refusal !== undefined) return refusal;
      // The event may overtake the reply.
      server.append(1, SANDBOX, "MESSAGE_QUEUED", { message_id: MESSAGE, content: "hi" });
      await expect.poll(() => watch.getSnapshot().log.stats.head).toBe(server.headOf(SANDBOX));
      return Response.json({ status: "queued", message_id: MESSAGE, sandbox_id: SANDBOX, queue_size: 1 });
    };
    const client = createClient({ baseUrl: server.baseUrl, fetch, timers: fastTimers });
    const watch = new SandboxWatch(client, SANDBOX, { timers: fastTimers });
    const leave = watch.subscribe(() => {});
    await until(watch, ({ log }) => log.state.phase === "live");
    await use({ server, watch, refusals, keys });
    leave();
    await expect.poll(() => server.connectionCount).toBe(0);
    await server.stop();
  },
});

test("a message is shown at once and followed by its id to the model", async ({ page }) => {
  const { server, watch } = page;
  const sent = watch.sendMessage("hi");
  expect(watch.getSnapshot().messages).toMatchObject([{ state: "sending", content: "hi" }]);
  await expect(sent).resolves.toMatchObject({ state: "queued", message_id: MESSAGE, isInLog: true });
  for (const state of ["delivered", "seen"]) {
    server.append(1, SANDBOX, "MESSAGE_STATE_CHANGED", { message_id: MESSAGE, state });
    await until(watch, ({ messages }) => messages[0]?.state === state);
  }
  server.append(1, SANDBOX, "MESSAGE_STATE_CHANGED", { message_id: MESSAGE, state: "delivered" });
  await until(watch, ({ log }) => log.stats.head === 4);
  expect(watch.getSnapshot().messages).toMatchObject([{ state: "seen" }]);
});

test("a message that was not sent keeps its text, and is sent again under its key", async ({ page }) => {
  const { watch, refusals, keys } = page;
  refusals.push(Response.json({}, { status: 401 }));
  const { key, state } = await watch.sendMessage("hi");
  expect(state).toBe("not-sent");
  expect(watch.getSnapshot().messages).toMatchObject([{ content: "hi", state: "not-sent" }]);
  await watch.retryMessage(key);
  expect(watch.getSnapshot().messages).toMatchObject([{ state: "queued", message_id: MESSAGE }]);
  expect(new Set(keys)).toEqual(new Set([key]));
  watch.discardMessage(key);
  expect(watch.getSnapshot().messages).toEqual([]);
});

test("the sandbox is as true as its log, also when a reading is older", async ({ page }) => {
  const { server, watch } = page;
  server.append(1, SANDBOX, "STATE_CHANGED", { from: "creating", to: "running", cause: "agent.started" });
  const { sandbox } = await until(watch, (snapshot) => snapshot.sandbox?.state === "running");
  expect(sandbox).toMatchObject({ state_cause: "agent.started", event_count: 1, last_event_type: "STATE_CHANGED" });
  const told = watch.getSnapshot();
  watch.wake();
  const again = await until(watch, (snapshot) => snapshot.sandbox !== told.sandbox);
  expect(again.sandbox).toMatchObject({ state: "running", event_count: 1 });
});
