/** P6: a message sent while a tool runs: from the tool's end to the model's next request, which must hold it, in turns with the SDK by
 *  itself, so that what Drover adds can be told; and from its POST to the agent's input, beside the old design's poll. */
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type AgentSession, createClaude, runWorker } from "@drover/worker";
import { ensureAgent } from "../packages/testkit/src/ensure-agent.ts";
import { startScriptedModel } from "../packages/testkit/src/model/scripted-model.ts";
import { startBareClaude } from "./bare-claude.ts";
import { startDrover } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";

const ROUNDS = 40;
const POLL_MS = 500;
const LOOK_MS = 5;
const TARGET_MS = 50;

const samples = {
  handed: [] as number[],
  steered: [] as number[],
  plain: [] as number[],
  bare: [] as number[],
  barePlain: [] as number[],
  /** Ours less the SDK's by itself, round by round. */
  added: [] as number[],
  poll: [] as number[],
};
const folder = await realpath(await mkdtemp(join(tmpdir(), "drover-steer-")));
const agentHome = await ensureAgent("claude");

/** A model that lets its agent wait for a file, again and again, and knows when each request came in (milliseconds since 1970). */
async function startModel() {
  const arrivals: number[] = [];
  const model = await startScriptedModel({
    script: (request) => {
      arrivals[request.n] = performance.timeOrigin + performance.now();
      const round = request.n;
      if (round > ROUNDS * 2) return { text: "Enough." };
      const command = `touch begun-${round}; until [ -e go-${round} ]; do sleep 0.01; done; date +%s%N > ended-${round}`;
      return { tools: [{ name: "Bash", input: { command, description: "Wait" } }] };
    },
  });
  return { model, arrivals };
}
type Played = Awaited<ReturnType<typeof startModel>> & {
  readonly cwd: string;
  readonly send: (message: string) => unknown;
};

/** Looks for a file; the machine's clock is not read from it. */
async function untilFile(cwd: string, name: string): Promise<string> {
  for (let looks = 0; looks < 60_000 / LOOK_MS; looks += 1) {
    const text = await readFile(join(cwd, name), "utf8").catch(() => undefined);
    if (text !== undefined && (text !== "" || name.startsWith("begun"))) return text;
    await new Promise((tell) => setTimeout(tell, LOOK_MS));
  }
  throw new Error(`${name} did not come`);
}

/** A round with a message or without; from the tool's end to the next request, in milliseconds. */
async function playRound({ model, arrivals, cwd, send }: Played, round: number, message: string | undefined) {
  await untilFile(cwd, `begun-${round}`);
  if (message !== undefined) await send(message);
  await writeFile(join(cwd, `go-${round}`), "");
  const endedMs = Number(BigInt((await untilFile(cwd, `ended-${round}`)).trim()) / 1_000n) / 1_000;
  const next = await model.nthRequest(round + 1);
  if (message !== undefined && !JSON.stringify(next.body).includes(message))
    throw new Error(`message of round ${round} is not in the next request`);
  return (arrivals[round + 1] ?? Number.NaN) - endedMs;
}

const alone = await startModel();
await using aloneModel = alone.model;
const bareClaude = await startBareClaude(agentHome, aloneModel.url, join(folder, "bare"));
const bare: Played = { ...alone, cwd: join(folder, "bare", "work"), send: bareClaude.send };

const cwd = join(folder, "work");
const ours = await startModel();
await using model = ours.model;
await using drover = await startDrover(undefined, { ANTHROPIC_BASE_URL: model.url });
const authorised = { authorization: `Bearer ${drover.token}`, "content-type": "application/json" };

async function post<T>(path: string, body: unknown): Promise<T> {
  const reply = await fetch(`${drover.url}/api/v1${path}`, {
    method: "POST",
    headers: authorised,
    body: JSON.stringify(body),
  });
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
  return (await reply.json()) as T;
}

const sandbox = await post<{ id: string; worker_env: Record<string, string> }>("/sandboxes", {
  provider: "external",
  runtime: "claude",
  model: "claude-sonnet-4-5",
  prompt: "Wait, again and again.",
});
const claude = createClaude();
const ending = new AbortController();
const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;
const worker = runWorker(
  { PATH, HOME: folder, CWD: cwd, STATE_DIR: join(folder, "state"), IS_SANDBOX: "1", ...sandbox.worker_env },
  ending.signal,
  {
    runtimes: {
      claude: { ...claude, start: (order, signal) => listen(claude.start({ ...order, agentHome }, signal)) },
    },
  },
);

/** Resolves when the agent is handed a message, by its text. */
const handed = new Map<string, (atMs: number) => void>();
function listen(session: AgentSession): AgentSession {
  return {
    ...session,
    send: (message) => {
      const refusal = session.send(message);
      handed.get(message.content)?.(performance.now());
      return refusal;
    },
  };
}

/** The tool ends once the message is with the agent: what comes after is the figure. */
async function send(message: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<number>();
  handed.set(message, resolve);
  const postedMs = performance.now();
  await post(`/sandboxes/${sandbox.id}/messages`, { content: message });
  samples.handed.push((await promise) - postedMs);
}
const drovers: Played = { ...ours, cwd, send };

/** In turns, so that both have the same machine; every second round with a message. */
for (let round = 1; round <= ROUNDS * 2; round += 1) {
  const message = round % 2 === 0 ? `message of round ${round}.` : undefined;
  const bareMs = await playRound(bare, round, message);
  const oursMs = await playRound(drovers, round, message);
  (message === undefined ? samples.barePlain : samples.bare).push(bareMs);
  (message === undefined ? samples.plain : samples.steered).push(oursMs);
  if (message !== undefined) samples.added.push(oursMs - bareMs);
}
ending.abort();
await worker;
await bareClaude.end();

// The old design: a worker that asks every 500 ms, whenever the message comes in between.
const old = await drover.createSandbox();
for (let round = 0; round < ROUNDS; round += 1) {
  const startMs = performance.now();
  const offsetMs = (POLL_MS * (round + 0.5)) / ROUNDS;
  await new Promise((tell) => setTimeout(tell, offsetMs));
  const postedMs = performance.now();
  await post(`/sandboxes/${old.id}/messages`, { content: "old" });
  await new Promise((tell) => setTimeout(tell, Math.max(0, POLL_MS - (performance.now() - startMs))));
  const reply = await fetch(`${drover.url}/api/v1/sandboxes/${old.id}/messages`, {
    headers: { authorization: `Bearer ${old.token}` },
  });
  if (((await reply.json()) as unknown[]).length !== 1) throw new Error("the old poll got nothing");
  samples.poll.push(performance.now() - postedMs);
}
await rm(folder, { recursive: true, force: true, maxRetries: 5 });

const handedIn = toPercentiles(samples.handed);
const steered = toPercentiles(samples.steered);
const plain = toPercentiles(samples.plain);
const bareSteered = toPercentiles(samples.bare);
const added = toPercentiles(samples.added);
const barePlain = toPercentiles(samples.barePlain);
const poll = toPercentiles(samples.poll);
const show = ({ p50, p99 }: { readonly p50: number; readonly p99: number }) =>
  `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms`;
report({
  id: "P6a",
  title: "from the tool's end to the model's next request, which holds the message (p99)",
  ours: steered.p99,
  floor: bareSteered.p99,
  ratio: steered.p99 / bareSteered.p99,
  target: `<= ${TARGET_MS} ms p99`,
  met: steered.p99 <= TARGET_MS,
  n: ROUNDS,
  ...steered,
  unit: "ms",
  note: `the floor is the SDK by itself, without worker, gateway and hooks, given the message by its input: ${show(bareSteered)}; without a message: ours ${show(plain)}, the SDK by itself ${show(barePlain)}`,
});
report({
  id: "P6b",
  title: "message POST to the agent's input while a tool runs (p99)",
  ours: handedIn.p99,
  floor: poll.p99,
  ratio: handedIn.p99 / poll.p99,
  target: `<= ${TARGET_MS} ms p99`,
  met: handedIn.p99 <= TARGET_MS,
  n: ROUNDS,
  ...handedIn,
  unit: "ms",
  note: "the floor is the old design's 500 ms poll",
});
report({
  id: "P6c",
  title: "what Drover adds to that way: worker, hooks, bridge and gateway (p99)",
  ours: added.p99,
  floor: null,
  ratio: null,
  target: `<= ${TARGET_MS} ms p99`,
  met: added.p99 <= TARGET_MS,
  n: ROUNDS,
  ...added,
  unit: "ms",
  note: "P6a less the SDK by itself, round by round in turns; what the SDK takes is its own, and nobody who runs it is faster",
});
