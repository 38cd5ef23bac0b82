import type { EventFrame } from "@drover/contract";
import { CLOSE } from "@drover/contract";
import { expect, test as base } from "vitest";
import { fastTimers } from "../test/facts.ts";
import { OTHER_SANDBOX, SANDBOX, ServerDouble } from "../test/server-double.ts";
import { createClient, type Client } from "./create-client.ts";
import type { EventStreamOptions } from "./event-stream.ts";
import { EventFeed } from "./event-feed.ts";
import type { StreamPhase, StreamState } from "./stream-state.ts";

interface Watched {
  readonly seqs: number[];
  readonly states: StreamState[];
  readonly until: (isFact: () => boolean) => Promise<void>;
}

/** Opens a stream and collects what it says. */
function watch(client: Client, options: Partial<EventStreamOptions> = {}) {
  const bells = new Set<() => void>();
  const ring = () => bells.forEach((bell) => bell());
  const watched: Watched = {
    seqs: [],
    states: [],
    until: (isFact) =>
      new Promise((resolve) => {
        const check = () => isFact() && (bells.delete(check), resolve());
        bells.add(check);
        check();
      }),
  };
  const stream = client.openStream({
    afterSeq: 0,
    ...options,
    onBatch: (frames) => {
      watched.seqs.push(...frames.map((frame) => frame.seq));
      ring();
    },
    onState: (state) => {
      watched.states.push(state);
      ring();
    },
  });
  const phase = (name: StreamPhase) => watched.until(() => stream.state.phase === name);
  return { ...watched, stream, phase };
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

const test = base.extend<{ server: ServerDouble; client: Client }>({
  server: async ({}, use) => {
    const server = new ServerDouble();
    await server.start();
    await use(server);
    await server.stop();
  },
  client: async ({ server }, use) => {
    await use(createClient({ baseUrl: server.baseUrl, fetch: server.fetch, timers: fastTimers }));
  },
});

test("a stream replays, says how much, and goes live", async ({ server, client }) => {
  server.append(120);
  const { stream, phase, seqs, states } = watch(client);
  await phase("live");
  expect(seqs).toEqual(upTo(120));
  expect(states.at(-1)).toEqual({ phase: "live", caughtUp: 120 });
  expect(states.map((state) => state.phase)).toContain("catching-up");
  stream.close();
});

test("after a drop it resumes from its last seq", async ({ server, client }) => {
  server.append(3);
  const { stream, phase, until, seqs } = watch(client);
  await phase("live");
  server.cutAll();
  await phase("reconnecting");
  server.append(2);
  await until(() => seqs.length === 5);
  expect(seqs).toEqual(upTo(5));
  expect(server.addresses.map((address) => new URL(address, "http://h").searchParams.get("after_seq"))).toEqual([
    "0",
    "3",
  ]);
  stream.close();
});

test("a live-only stream that was cut before its first event misses nothing", async ({ server, client }) => {
  server.append(3);
  const { stream, phase, until, seqs } = watch(client, { afterSeq: undefined });
  await phase("live");
  server.cutAll();
  await phase("reconnecting");
  server.append(2);
  await until(() => seqs.length === 2);
  expect(seqs).toEqual([4, 5]);
  stream.close();
});

test("a lost last frame is noticed by the server's head", async ({ server, client }) => {
  const { stream, phase, until, seqs } = watch(client, { quietMs: 1_000, graceMs: 500 });
  await phase("live");
  server.faults.push("lose");
  server.append(1);
  await until(() => seqs.length === 1);
  expect(stream.stats.reconnects).toBe(1);
  stream.close();
});

test("the token is the first frame, and a wrong one ends the stream", async ({ server, client }) => {
  server.token = "drv_u_right";
  const right = createClient({ baseUrl: server.baseUrl, token: "drv_u_right", timers: fastTimers });
  const good = watch(right);
  await good.phase("live");
  expect(server.received[0]).toEqual({ type: "auth", token: "drv_u_right" });
  expect(server.addresses.join()).not.toContain("drv_u_right");
  good.stream.close();

  const wrong = watch(createClient({ baseUrl: server.baseUrl, token: "drv_u_wrong", timers: fastTimers }));
  await wrong.phase("unauthenticated");
  expect(wrong.stream.stats.reconnects).toBe(0);
  wrong.stream.close();
  void client;
});

test("a credential that is revoked ends it; waking it after a login goes on", async ({ server, client }) => {
  const { stream, phase, seqs, until } = watch(client);
  await phase("live");
  server.closeAll(CLOSE.credential);
  await phase("unauthenticated");
  server.append(1);
  stream.wake();
  await until(() => seqs.length === 1);
  stream.close();
});

test("one that is closed while it is being opened ends without an error", async ({ server }) => {
  const heard: string[] = [];
  class HeardSocket extends WebSocket {
    constructor(address: string) {
      super(address);
      for (const type of ["open", "error", "close"]) this.addEventListener(type, () => heard.push(type));
    }
  }
  const client = createClient({ baseUrl: server.baseUrl, WebSocket: HeardSocket as typeof WebSocket });
  client.openStream({ onBatch: () => {} }).close();
  await expect.poll(() => heard).toEqual(["open", "close"]);
});

test("4403 ends it", async ({ server, client }) => {
  const { stream, phase } = watch(client);
  await phase("live");
  server.closeAll(CLOSE.project);
  await phase("forbidden");
  stream.close();
});

test("a filter that changes applies to what comes", async ({ server, client }) => {
  const { stream, phase, until, seqs } = watch(client, { filter: { entity_ids: [SANDBOX] } });
  await phase("live");
  server.append(1, OTHER_SANDBOX);
  server.append(1);
  await until(() => seqs.length === 1);
  stream.updateFilter({ entity_ids: [OTHER_SANDBOX] });
  const subscribed = { type: "subscribe", event_types: [], entity_types: [], entity_ids: [OTHER_SANDBOX] };
  await expect.poll(() => server.received).toContainEqual(subscribed);
  server.append(1);
  server.append(1, OTHER_SANDBOX);
  await until(() => seqs.length === 2);
  expect(seqs).toEqual([2, 4]);
  stream.close();
});

test("a slow consumer holds the server back instead of filling memory", async ({ server, client }) => {
  const gate = Promise.withResolvers<void>();
  const taken: number[] = [];
  const all = Promise.withResolvers<void>();
  const stream = client.openStream({
    afterSeq: 0,
    onBatch: async (frames) => {
      await gate.promise;
      taken.push(...frames.map((frame) => frame.seq));
      if (taken.length === 500) all.resolve();
    },
  });
  await expect.poll(() => stream.state.phase).toBe("live");
  server.append(500);
  await expect.poll(() => stream.position).toBe(server.window);
  gate.resolve();
  await all.promise;
  expect(taken).toEqual(upTo(500));
  stream.close();
});

test("events() gives each event once through a restart, and ends with its signal", async ({ server, client }) => {
  server.append(60);
  const stop = new AbortController();
  const seen: EventFrame[] = [];
  for await (const event of client.events({ afterSeq: 0, signal: stop.signal })) {
    seen.push(event);
    if (seen.length === 40) {
      await server.stop(1012);
      await server.start();
      server.append(40);
    }
    if (seen.length === 100) stop.abort();
  }
  expect(seen.map((event) => event.seq)).toEqual(upTo(100));
});

test("events() throws when the credential is refused", async ({ server }) => {
  server.token = "drv_u_right";
  const client = createClient({ baseUrl: server.baseUrl, token: "drv_u_wrong" });
  const read = async () => {
    for await (const _ of client.events()) return;
  };
  await expect(read()).rejects.toMatchObject({ code: "auth.required" });
});

test("waitFor finds what has happened, and what is to come", async ({ server, client }) => {
  server.append(2);
  server.append(1, SANDBOX, "agent.completed");
  await expect(client.waitFor(SANDBOX, "agent.completed")).resolves.toMatchObject({ seq: 3 });
  const later = client.waitFor(SANDBOX, (event) => event.payload["n"] === 5);
  server.append(2);
  await expect(later).resolves.toMatchObject({ sandbox_seq: 5 });
});

test("waitFor gives up in time, and says on what", async ({ client }) => {
  const late = client.waitFor(SANDBOX, "agent.completed", { timeoutMs: 500 });
  await expect(late).rejects.toMatchObject({
    code: "client.timed_out",
    message: `${SANDBOX} had no agent.completed within 500 ms`,
  });
});

test("a feed keeps the newest, and a later subscriber goes on where the last one ended", async ({ server, client }) => {
  const feed = new EventFeed(client.openStream, { limit: 3, afterSeq: 0 });
  const seqs = () => feed.getSnapshot().events.map((event) => event.seq);
  server.append(5);
  const leave = feed.subscribe(() => {});
  await expect.poll(seqs).toEqual([3, 4, 5]);
  leave();
  await expect.poll(() => server.connectionCount, { timeout: 5_000 }).toBe(0);
  server.append(2);
  const leaveAgain = feed.subscribe(() => {});
  await expect.poll(seqs).toEqual([5, 6, 7]);
  feed.clearEvents();
  expect(seqs()).toEqual([]);
  leaveAgain();
});
