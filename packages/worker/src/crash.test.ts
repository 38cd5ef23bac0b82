/** Real processes, really killed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { FAULT_POINTS } from "./fault.ts";
import type { Peer } from "./fixtures/peer.ts";
import { type Rig, test } from "./fixtures/worker-test.ts";

const COUNT = 40;
/** Texts between two edits, so that deaths fall everywhere; long enough to make the journal be rewritten. */
const SCRIPT = {
  steps: [
    { text: "first" },
    { edit: { path: "count.txt", content: "0\n" } },
    { repeat: { times: COUNT, steps: [{ text: "step {{round}}" }, { thinking: "x".repeat(12_000) }] } },
    { edit: { path: "count.txt", find: "0", replace: "00" } },
    { wait_for_message: { seconds: 30 } },
    { text: "last" },
  ],
} as never;

const texts = (peer: Peer) => peer.data("agent.message").map((data) => data.content);
const numbers = (peer: Peer) => peer.events.map((event) => Number(event.client_event_id.split("-")[1]));

/** Starts workers until one ends by itself. */
async function runToEnd(rig: Rig, peer: Peer, faults: readonly string[]): Promise<(number | string)[]> {
  const exits: (number | string)[] = [];
  for (const fault of [...faults, ""]) {
    const child = rig.spawn(peer, { POST_COMPLETION_SECONDS: "0.05", DROVER_FAULT: fault });
    exits.push(await child.gone);
    // A dead worker's lease runs out.
    for (const message of peer.messages.filter((one) => one.acks.length === 0)) message.leases = 0;
    if (exits.at(-1) === 0) break;
  }
  return exits;
}

const expectWhole = (peer: Peer, rig: Rig) => {
  expect(texts(peer)).toEqual([
    "first",
    ...Array.from({ length: COUNT }, (_, index) => `step ${index + 1}`),
    "Understood: hello",
    "last",
  ]);
  expect(peer.data("agent.file_edited").map((data) => data.change_type)).toEqual(["created", "modified"]);
  expect(readFileSync(join(rig.cwd, "count.txt"), "utf8")).toBe("00\n");
  expect(peer.data("agent.message_injected")).toHaveLength(1);
  expect(peer.data("agent.completed")).toHaveLength(1);
  expect(peer.messages[0]?.acks.some((ack) => ack.status === "seen")).toBe(true);
  expect(numbers(peer)).toEqual(numbers(peer).toSorted((a, b) => a - b));
  expect(new Set(peer.events.map((event) => event.client_event_id)).size).toBe(peer.events.length);
};

test.for(FAULT_POINTS)(
  "a worker killed at %s goes on where it was: nothing lost, nothing twice",
  { timeout: 120_000 },
  async (point, { rig }) => {
    const peer = await rig.peer({ script: SCRIPT });
    // The message comes when all steps were played, so that it is answered at one place.
    const queued = peer.until(() => peer.data("agent.waiting").length > 0).then(() => peer.queue("hello"));
    const pass = point.startsWith("inbox") || point === "outbox.compacting" ? 1 : 2;
    const exits = await runToEnd(rig, peer, [`${point}:${pass}`]);
    await queued;
    expect(exits).toEqual(["SIGKILL", 0]);
    expectWhole(peer, rig);
  },
);

test("an agent that kills the worker finds its place again", { timeout: 120_000 }, async ({ rig }) => {
  const peer = await rig.peer({
    script: { steps: [{ text: "one" }, { crash: true }, { text: "two" }, { crash: true }, { text: "three" }] } as never,
  });
  expect(await runToEnd(rig, peer, ["", ""])).toEqual(["SIGKILL", "SIGKILL", 0]);
  expect(texts(peer)).toEqual(["one", "two", "three"]);
  expect(peer.data("agent.started").map((data) => [data.is_resuming, data.resume])).toEqual([
    [false, null],
    [true, "native"],
    [true, "native"],
  ]);
});

test(
  "a command that was running when the worker died is closed as failed and runs again",
  { timeout: 120_000 },
  async ({ rig }) => {
    const peer = await rig.peer({
      script: {
        steps: [{ command: { argv: ["node", "-e", "console.log('up'); setTimeout(() => {}, 300)"] } }],
      } as never,
    });
    const child = rig.spawn(peer);
    await peer.until(() => peer.types().includes("command.output"));
    child.process.kill("SIGKILL");
    await child.gone;
    await runToEnd(rig, peer, []);
    const uses = peer.data("agent.tool_use").map((data) => data.tool_use_id);
    const results = peer.data("agent.tool_result").map((data) => [data.tool_use_id, data.is_error]);
    expect(new Set(uses).size).toBe(2);
    expect(results).toEqual([
      [uses[0], true],
      [uses[1], false],
    ]);
  },
);

test(
  "a worker started again while the server is away works on, and reports later",
  { timeout: 120_000 },
  async ({ rig }) => {
    const peer = await rig.peer({
      script: {
        steps: [{ text: "one" }, { crash: true }, { text: "two" }, { edit: { path: "made", content: "x" } }],
      } as never,
    });
    expect(await rig.spawn(peer).gone).toBe("SIGKILL");
    await peer.stop();
    const child = rig.spawn(peer, { POST_COMPLETION_SECONDS: "0.05" });
    await new Promise<void>((resolve) => {
      const look = () => (child.stderr().includes("assignment.remembered") ? resolve() : setImmediate(look));
      child.process.stderr?.on("data", look);
    });
    await peer.start();
    expect(await child.gone).toBe(0);
    expect(texts(peer)).toEqual(["one", "two"]);
  },
);

test("SIGTERM ends a worker cleanly, with its last events at the server", async ({ rig }) => {
  const peer = await rig.peer({ script: { steps: [{ text: "up" }, { wait: 600 }] } as never });
  const child = rig.spawn(peer);
  await peer.until(() => peer.types().includes("agent.message"));
  child.process.kill("SIGTERM");
  expect(await child.gone).toBe(0);
  expect(peer.data("agent.shutdown")).toMatchObject([{ reason: "SIGTERM", total_turns: 1 }]);
});

test("a worker that cannot start says why in one line", async ({ rig }) => {
  const peer = await rig.peer();
  const child = rig.spawn(peer, { SANDBOX_TOKEN: "", POLL_INTERVAL: "soon" });
  expect(await child.gone).toBe(1);
  expect(child.stderr()).toBe("drover worker: cannot start: SANDBOX_TOKEN is not set, POLL_INTERVAL is not valid\n");
});
