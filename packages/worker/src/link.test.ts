import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NewEvent } from "@drover/contract";
import { test as base, expect } from "vitest";
import { openArtifactSpool } from "./artifacts.ts";
import { noFault } from "./fault.ts";
import { createManualClock, type ManualClock } from "./fixtures/manual-clock.ts";
import { createMemoryDisk } from "./fixtures/memory-disk.ts";
import { type Peer, SANDBOX_ID, startPeer, TOKEN } from "./fixtures/peer.ts";
import { type Link, startLink } from "./link.ts";
import { noLog } from "./log.ts";
import { openOutbox, type Outbox } from "./outbox.ts";
import { createTransport } from "./transport.ts";

interface Fixtures {
  peer: Peer;
  clock: ManualClock;
  outbox: Outbox;
  start: (url?: string) => Promise<Link & { folder: string }>;
}

const test = base.extend<Fixtures>({
  peer: async ({}, use) => {
    const peer = await startPeer();
    await use(peer);
    await peer.stop();
  },
  clock: ({}, use) => use(createManualClock()),
  outbox: async ({ clock }, use) => {
    const parts = {
      disk: createMemoryDisk(),
      clock,
      fault: noFault,
      openId: "open",
      limitBytes: 1e9,
      compactAtBytes: 1_000,
      onTrouble: () => {},
    };
    await use(await openOutbox(parts));
  },
  start: async ({ peer, clock, outbox }, use) => {
    const ending = new AbortController();
    const folder = mkdtempSync(join(tmpdir(), "link-"));
    const links: Link[] = [];
    await use(async (url = peer.url) => {
      const artifacts = await openArtifactSpool(folder);
      const parts = {
        outbox,
        artifacts,
        transport: createTransport(url, TOKEN),
        sandboxId: SANDBOX_ID,
        clock,
        random: () => 0,
        fault: noFault,
        log: noLog,
      };
      const link = startLink(parts, ending.signal);
      links.push(link);
      return { ...link, folder };
    });
    ending.abort();
    await Promise.all(links.map((link) => link.done));
    rmSync(folder, { recursive: true, force: true });
  },
});

const event = (name: number | string, size = 0): NewEvent => ({
  event_type: "agent.message",
  source: "agent",
  event_data: { name, filler: "x".repeat(size) },
});
const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const sent = (peer: Peer) => peer.events.map((one) => one.event_data.name ?? one.event_type);
const forever = new AbortController().signal;

test("events arrive in order, once, in batches within both limits", async ({ peer, outbox, start }) => {
  for (const n of range(2_500)) void outbox.append([event(n)]);
  await outbox.append(range(6).map((n) => event(`large ${n}`, 400_000)));
  const link = await start();
  expect(await link.drained(forever)).toBe(true);
  expect(sent(peer)).toEqual([...range(2_500), ...range(6).map((n) => `large ${n}`)]);
  expect(Math.max(...peer.batches)).toBe(1_000);
  expect(Math.max(...peer.requests.map((request) => request.body.length))).toBeLessThan(1_300_000);
});

test("a reply lost after the commit leads to a duplicate that the server drops", async ({
  peer,
  outbox,
  clock,
  start,
}) => {
  let drops = 2;
  peer.intercept = () => (drops-- > 0 ? "drop_after" : undefined);
  await outbox.append([event("a"), event("b")]);
  const link = await start();
  await clock.sleeping();
  clock.advance(5_000);
  await clock.sleeping();
  clock.advance(5_000);
  await link.drained(forever);
  expect(sent(peer)).toEqual(["a", "b"]);
  expect(peer.duplicates.count).toBe(4);
});

test("an event on its way is not changed any more: the server may have its first text; one that came back is", async ({
  peer,
  outbox,
  clock,
  start,
}) => {
  await outbox.append([event("first")]);
  const changed: boolean[] = [];
  peer.intercept = () => {
    changed.push(outbox.amend(1, event("second")));
    return changed.length === 1 ? "drop" : undefined;
  };
  const link = await start();
  await clock.sleeping();
  expect(outbox.amend(1, event("third"))).toBe(true);
  clock.advance(5_000);
  await link.drained(forever);
  expect(changed).toEqual([false, false]);
  expect(sent(peer)).toEqual(["third"]);
});

test("errors of the server are waited out, longer each time, and Retry-After is kept", async ({
  peer,
  outbox,
  clock,
  start,
}) => {
  const answers = [{ status: 502 }, { status: 500 }, { status: 429, retryAfter: 7 }, { status: 503 }];
  peer.intercept = () => answers.shift();
  const waits: number[] = [];
  clock.sleep = async (ms) => void waits.push(ms);
  await outbox.append([event("a")]);
  const link = await start();
  await link.drained(forever);
  expect(sent(peer)).toEqual(["a"]);
  expect(waits).toEqual([100, 200, 7_100, 800]);
});

test("a server that is away is tried again until it is back, and nothing is lost", async ({
  peer,
  outbox,
  clock,
  start,
}) => {
  await peer.stop();
  let waits = 0;
  const restarted = Promise.withResolvers<void>();
  clock.sleep = async () => {
    waits += 1;
    if (waits === 20) await peer.start().then(restarted.resolve);
  };
  const link = await start();
  for (const n of range(50)) await outbox.append([event(n)]);
  await restarted.promise;
  await link.drained(forever);
  expect(sent(peer)).toEqual(range(50));
});

test("an event the server will never take is replaced by a note, and everything else arrives in order", async ({
  peer,
  outbox,
  start,
}) => {
  const isPoison = (body: string) => body.includes('"name":13,') || body.includes('"name":777,');
  peer.intercept = (request) =>
    isPoison(request.body) ? { status: 422, body: { type: "request.invalid", detail: "no thirteens" } } : undefined;
  await outbox.append(range(1_000).map((n) => event(n)));
  const link = await start();
  expect(await link.drained(forever)).toBe(true);
  expect(sent(peer)).toEqual(range(1_000).map((n) => (n === 13 || n === 777 ? "worker.event_rejected" : n)));
  expect(peer.data("worker.event_rejected")[0]).toMatchObject({
    event_type: "agent.message",
    reason: "422 no thirteens",
  });
  expect(peer.requests.length).toBeLessThan(60);
});

test("a server that refuses even the note loses nothing: the events wait", async ({ peer, outbox, clock, start }) => {
  let isBroken = true;
  peer.intercept = () => (isBroken ? { status: 422, body: { type: "request.invalid" } } : undefined);
  await outbox.append([event("a"), event("b")]);
  const link = await start();
  await clock.sleeping();
  expect(outbox.pending).toBe(2);
  isBroken = false;
  clock.advance(60_000);
  await link.drained(forever);
  expect(sent(peer)).toEqual(["worker.event_rejected", "b"]);
});

test.for([
  [401, undefined, "revoked"],
  [409, "https://drover.dev/errors/sandbox.fenced", "fenced"],
  [409, "sandbox.terminal", "ended"],
  [404, "urn:drover:sandbox.not_found", "unknown_sandbox"],
] as const)("a %s with %s ends the link as %s", async ([status, type, reason], { peer, outbox, start }) => {
  peer.intercept = () => ({ status, body: { type } });
  await outbox.append([event("a")]);
  const link = await start();
  expect(await link.done).toMatchObject({ reason });
  expect(await link.drained(forever)).toBe(false);
  expect(outbox.pending).toBe(1);
});

test("artifacts arrive before the events that name them", async ({ peer, outbox, start }) => {
  const link = await start();
  const spool = await openArtifactSpool(link.folder);
  const id = await spool.keep(Buffer.from("a long diff"));
  await outbox.append([{ ...event("a"), event_data: { full_diff_artifact: id } }]);
  const second = await start();
  await second.drained(forever);
  expect(peer.artifacts.get(id)?.toString()).toBe("a long diff");
  const put = peer.requests.findIndex((request) => request.method === "PUT");
  expect(put).toBeGreaterThanOrEqual(0);
});

test("one connection is kept open for many batches", async ({ peer, outbox, start }) => {
  const link = await start();
  for (const n of range(5)) {
    await outbox.append([event(n)]);
    await link.drained(forever);
  }
  expect(peer.batches.length).toBe(5);
  expect(peer.connections()).toBe(1);
});

test("a unix socket serves as well as an address", async ({ outbox, start }) => {
  const path = join(mkdtempSync(join(tmpdir(), "sock-")), "s");
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    request.on("data", (chunk: Buffer) => bodies.push(chunk.toString()));
    request.on("end", () => response.end("{}"));
  });
  server.listen(path);
  await once(server, "listening");
  await outbox.append([event("a")]);
  const link = await start(`unix://${path}`);
  expect(await link.drained(forever)).toBe(true);
  expect(bodies.join("")).toContain('"name":"a"');
  server.closeAllConnections();
  server.close();
});
