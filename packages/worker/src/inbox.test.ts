import { expect, test as base } from "vitest";
import type { InboxMessage } from "@drover/contract";
import { type Fault, noFault } from "./fault.ts";
import { systemClock } from "./clock.ts";
import { createMemoryDisk, type MemoryDisk } from "./fixtures/memory-disk.ts";
import { type Peer, SANDBOX_ID, startPeer, TOKEN } from "./fixtures/peer.ts";
import { startInbox, toInjectedNotes } from "./inbox.ts";
import { noLog } from "./log.ts";
import { openOutbox, type Outbox } from "./outbox.ts";
import { startReceipts } from "./receipts.ts";
import { createTransport } from "./transport.ts";

interface Life {
  readonly outbox: Outbox;
  readonly given: InboxMessage[];
  /** The agent was given the message. */
  inject(message: InboxMessage, turn: number): Promise<void>;
  /** The process is gone; what it wrote stays. */
  die(): Promise<void>;
}

const test = base.extend<{
  peer: Peer;
  live: (disk: MemoryDisk, more?: { refusal?: string; fault?: Fault }) => Promise<Life>;
}>({
  peer: async ({}, use) => {
    const peer = await startPeer();
    await use(peer);
    await peer.stop();
  },
  live: async ({ peer }, use) => {
    const lives: Life[] = [];
    await use(async (disk, { refusal, fault = noFault } = {}) => {
      const ending = new AbortController();
      const parts = {
        clock: systemClock,
        random: () => 0,
        fault,
        log: noLog,
        sandboxId: SANDBOX_ID,
        transport: createTransport(peer.url, TOKEN),
      };
      const outbox = await openOutbox({
        ...parts,
        disk,
        openId: `open${lives.length}`,
        limitBytes: 1e9,
        compactAtBytes: 1_000,
        onTrouble: () => {},
      });
      const given: InboxMessage[] = [];
      const receipts = startReceipts({ ...parts, outbox }, ending.signal);
      const deliver = (message: InboxMessage) => (given.push(message), refusal);
      const inbox = startInbox({ ...parts, outbox, pollMs: 10, deliver, onOwed: receipts.wake }, ending.signal);
      const life: Life = {
        outbox,
        given,
        async inject(message, turn) {
          await outbox.append(
            [{ event_type: "agent.message_injected", source: "agent", event_data: { message_id: message.id } }],
            toInjectedNotes(message.id, "seen", { turn }),
          );
          receipts.wake();
        },
        async die() {
          ending.abort();
          await Promise.all([inbox.done, receipts.done]);
          await outbox.close();
        },
      };
      lives.push(life);
      return life;
    });
    for (const life of lives) await life.die();
  },
});

test("a message is acknowledged as delivered when the agent took it, and as seen when the agent was given it", async ({
  peer,
  live,
}) => {
  const life = await live(createMemoryDisk());
  const message = peer.queue("hello");
  await peer.until(() => message.acks.length === 1);
  expect(message.acks).toEqual([{ status: "delivered" }]);
  await life.inject(life.given[0] as InboxMessage, 4);
  await peer.until(() => message.acks.length === 2);
  expect(message.acks[1]).toEqual({ status: "seen", turn: 4 });
});

test("a message that the agent refuses is acknowledged as failed, with the reason", async ({ peer, live }) => {
  await live(createMemoryDisk(), { refusal: "the agent has ended" });
  const message = peer.queue("hello");
  await peer.until(() => message.acks.some((ack) => ack.status === "failed"));
  expect(message.acks.at(-1)).toMatchObject({ status: "failed", detail: "the agent has ended" });
});

test("a message taken but not given before a death is given in the next life, without the server's help", async ({
  peer,
  live,
}) => {
  const disk = createMemoryDisk();
  const first = await live(disk);
  const message = peer.queue("hello");
  await peer.until(() => message.acks.length === 1);
  await first.die();
  const second = await live(createMemoryDisk(disk.afterKill()));
  await second.outbox.settled();
  expect(second.given.map((one) => one.content)).toEqual(["hello"]);
});

test("a message given before a death is never given again, and its receipt is sent", async ({ peer, live }) => {
  const disk = createMemoryDisk();
  const first = await live(disk);
  const message = peer.queue("hello");
  await peer.until(() => message.acks.length === 1);
  peer.intercept = (request) => (request.path.endsWith("/ack") ? { status: 503 } : undefined);
  await first.inject(first.given[0] as InboxMessage, 2);
  await first.die();
  peer.intercept = () => undefined;
  message.leases = 0; // its lease ran out: the server brings it again
  const second = await live(createMemoryDisk(disk.afterKill()));
  await peer.until(() => message.acks.filter((ack) => ack.status === "seen").length >= 1);
  const other = peer.queue("another");
  await peer.until(() => other.acks.length === 1);
  expect(second.given.map((one) => one.content)).toEqual(["another"]);
});

test("a message that comes again in the same life is given once", async ({ peer, live }) => {
  const life = await live(createMemoryDisk());
  const message = peer.queue("hello");
  await peer.until(() => message.acks.length === 1);
  message.leases = 0;
  peer.queue("next");
  await peer.until(() => message.acks.length === 2);
  expect(life.given.map((one) => one.content)).toEqual(["hello", "next"]);
});

test("a server without long-poll is asked again and again", async ({ peer, live }) => {
  peer.intercept = (request) =>
    request.path.includes("wait=") ? { status: 422, body: { type: "request.invalid" } } : undefined;
  const life = await live(createMemoryDisk());
  const message = peer.queue("hello");
  await peer.until(() => message.acks.length === 1);
  expect(life.given.map((one) => one.content)).toEqual(["hello"]);
});

test("a server without leases is served too", async ({ peer, live }) => {
  peer.intercept = (request) =>
    request.path.includes("lease=") ? { status: 422, body: { type: "request.invalid" } } : undefined;
  const life = await live(createMemoryDisk());
  peer.queue("hello");
  await peer.until(() => peer.messages[0]?.acks.length === 1);
  expect(life.given).toHaveLength(1);
});

test("a receipt the server refuses is not sent for ever", async ({ peer, live }) => {
  peer.intercept = (request) =>
    request.path.endsWith("/ack") ? { status: 409, body: { type: "message.illegal_transition" } } : undefined;
  await live(createMemoryDisk());
  const acks = () =>
    peer.requests.filter((request) => request.path.endsWith("/ack")).map((request) => request.path.split("/").at(-2));
  const message = peer.queue("hello");
  await peer.until(() => acks().length === 1);
  peer.intercept = () => undefined;
  const next = peer.queue("next");
  await peer.until(() => next.acks.length === 1);
  expect(acks()).toEqual([message.id, next.id]);
});
