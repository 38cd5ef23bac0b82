/** One schedule: a sandbox whose worker, server and database die as its plan says, and what must be true in the end. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, type Client } from "@drover/client";
import type { EventFrame, SandboxId } from "@drover/contract";
import type { Db } from "../../../server/src/ports/db.ts";
import { untilFact } from "../delivery/fact.ts";
import { readAccepted, readNotes } from "./accept-log.ts";
import { toScript, type Deed, type Kill, type Plan } from "./plan.ts";
import { ADMIN_TOKEN, type ServerUnderFire } from "./server-under-fire.ts";
import { listFates, listStored, type StoredEvent } from "./store-truth.ts";
import type { Tally } from "./tally.ts";
import {
  complainOfMessages,
  complainOfReceived,
  complainOfScript,
  complainOfSeen,
  complainOfStore,
} from "./verdict.ts";
import { watchByClient, type Watcher } from "./watcher.ts";
import { startWorkerUnderFire, type WorkerUnderFire } from "./worker-under-fire.ts";

export interface World {
  readonly directory: string;
  readonly server: Pick<ServerUnderFire, "url" | "db" | "hopeless" | "ready" | "kill" | "killAt" | "killPostgres">;
  readonly tally: Tally;
  /** Subscribers of everything, which live as long as the test. */
  readonly watchers: readonly Watcher[];
}

/** Servers come back within seconds: every call is repeated until it is answered. */
const toPatience = ({ server }: World) => ({ retries: 10_000, signal: server.hopeless });
const DEADLINE_MS = 180_000;
const LOOK_MS = 20;
/** Looking into the store costs more. */
const LOOK_INTO_STORE_MS = 150;

/** How far the script is, as a number that grows: `2.7` is 2007. */
const toProgress = (segment: number, round: number) => segment * 1_000 + round;

const readText = ({ payload }: EventFrame, key: string): string => {
  const value = payload[key];
  return typeof value === "string" ? value : "";
};

function readProgress(frame: EventFrame): number {
  const [, segment, round] = /^step (\d+)\.(\d+) /.exec(readText(frame, "content")) ?? [];
  return segment === undefined ? 0 : toProgress(Number(segment), Number(round));
}

const isType = (frame: EventFrame, type: string) => frame.payload["original_event_type"] === type;

/** What is known of a sandbox from outside while its schedule runs. */
export interface Run {
  readonly id: SandboxId;
  readonly client: Client;
  readonly own: Watcher;
  readonly worker: WorkerUnderFire;
  readonly sent: readonly string[];
  /** Messages on their way to the server. */
  readonly unsent: () => number;
  readonly complaints: string[];
  readonly progress: () => number;
  readonly say: (content: string, delivery: "steer" | "queue") => Promise<void>;
}

/** Waits for a fact as long as there is hope. */
export function wait(
  { server }: World,
  what: () => string,
  isTrue: () => boolean | Promise<boolean>,
  lookMs = LOOK_MS,
): Promise<void> {
  const look = () => {
    server.hopeless.throwIfAborted();
    return isTrue();
  };
  return untilFact(what, look, DEADLINE_MS, lookMs);
}

/** Asks again while the database is away. */
export async function askStore<T>(world: World, ask: (db: Db) => Promise<T>): Promise<T> {
  let answer: { readonly value: T } | undefined;
  await wait(
    world,
    () => "the store answers",
    async () => {
      // Expected: Postgres was killed a moment ago.
      answer = await ask(world.server.db).then(
        (value) => ({ value }),
        () => undefined,
      );
      return answer !== undefined;
    },
  );
  return (answer as { readonly value: T }).value;
}

async function kill({ server }: World, run: Run, what: Kill): Promise<void> {
  if (what.who === "worker") return run.worker.kill();
  await server.ready();
  if (what.who === "postgres") return server.killPostgres(what.part);
  return "at" in what ? server.killAt(what.at, what.nth) : server.kill(what.awayMs);
}

async function perform(world: World, run: Run, deed: Deed): Promise<void> {
  const due = toProgress(deed.segment, deed.round);
  await wait(
    world,
    () => `${run.id} reaches step ${deed.segment}.${deed.round}`,
    () => run.progress() >= due,
  );
  if (deed.lateMs > 0) await new Promise<void>((resolve) => void setTimeout(resolve, deed.lateMs));
  if ("say" in deed.what) await run.say(deed.what.say, deed.what.delivery);
  else await kill(world, run, deed.what.kill);
  // A receipt is never ahead of the fact, at whatever moment one looks.
  const fates = await listFates(world.server.db, run.id).catch(() => []);
  run.complaints.push(...complainOfSeen(fates, readNotes(run.worker.acceptLog, "given")));
}

async function start(world: World, plan: Plan): Promise<Run> {
  const { server, tally } = world;
  const client = createClient({ baseUrl: server.url, token: ADMIN_TOKEN });
  const body = {
    provider: "external",
    runtime: "scripted",
    prompt: `schedule ${plan.index}`,
    script: toScript(plan),
  } as const;
  const created = await client.createSandbox({ body }, toPatience(world));
  const { id } = created;
  const sent: string[] = [];
  const complaints: string[] = [];
  let unsent = 0;
  const say: Run["say"] = async (content, delivery) => {
    unsent += 1;
    const queued = await client.sendMessage(
      { params: { sandbox_id: id }, body: { content, delivery } },
      toPatience(world),
    );
    sent.push(queued.message_id);
    unsent -= 1;
    tally.count("messages sent");
  };
  let progress = 0;
  const onFrames = (frames: readonly EventFrame[]) => {
    for (const frame of frames) {
      if (isType(frame, "agent.message")) progress = Math.max(progress, readProgress(frame));
      // A segment is over and the agent waits for a word.
      if (isType(frame, "agent.waiting") && readText(frame, "message").startsWith("segment"))
        say(`go on from ${readText(frame, "message")}`, "steer").catch((error: unknown) =>
          complaints.push(String(error)),
        );
    }
  };
  const own = watchByClient(`the client of ${id}`, server.url, { entity_ids: [id] }, 0, onFrames);
  const worker = startWorkerUnderFire({
    directory: join(world.directory, id),
    env: { ...created.worker_env, SANDBOX_ID: id, CALLBACK_URL: server.url, SANDBOX_TOKEN: created.worker_token ?? "" },
    plan,
    tally,
  });
  return { id, client, own, worker, sent, unsent: () => unsent, complaints, progress: () => progress, say };
}

const hasConverged = (run: Run): boolean => {
  const count = (type: string) => run.own.frames.filter((frame) => isType(frame, type)).length;
  return run.unsent() === 0 && count("agent.completed") > 0 && count("agent.message_injected") >= run.sent.length;
};

async function waitUntilDrained(world: World, run: Run): Promise<void> {
  await wait(
    world,
    () => `everything ${run.id} accepted is stored`,
    async () => {
      const stored = new Set(
        (await askStore(world, (db) => listStored(db, run.id))).map((event) => event.client_event_id),
      );
      return readAccepted(run.worker.acceptLog).every(({ id }) => stored.has(id));
    },
    LOOK_INTO_STORE_MS,
  );
}

async function judge(world: World, run: Run, plan: Plan): Promise<readonly string[]> {
  const { watchers } = world;
  const stored = await askStore(world, (db) => listStored(db, run.id));
  const fates = await askStore(world, (db) => listFates(db, run.id));
  const accepted = readAccepted(run.worker.acceptLog);
  const last = stored.at(-1)?.seq ?? 0;
  const all = [run.own, ...watchers];
  const isThere = () => all.every((watcher) => (watcher.frames.at(-1)?.seq ?? 0) >= last);
  const whoIsLate = () =>
    all
      .filter((watcher) => (watcher.frames.at(-1)?.seq ?? 0) < last)
      .map((watcher) => watcher.name)
      .join(", ");
  await wait(world, () => `${whoIsLate()} has ${last}`, isThere);
  world.tally.count("events accepted", accepted.length);
  world.tally.count("events stored", stored.length);
  return [
    ...run.complaints,
    ...run.worker.complaints,
    ...complainOfStore(stored, accepted),
    ...complainOfScript(stored, plan),
    ...complainOfMessages(run.sent, fates, stored),
    ...all.flatMap((watcher) =>
      complainOfReceived(
        watcher.name,
        watcher.frames.filter((frame) => frame.entity_id === run.id),
        stored,
      ),
    ),
    ...(await complainOfLog(world, run, plan, stored)),
  ];
}

/** The sandbox's page, opened late: history and live part are one unbroken log. */
async function complainOfLog(
  world: World,
  run: Run,
  plan: Plan,
  stored: readonly StoredEvent[],
): Promise<readonly string[]> {
  if (plan.index % 5 !== 0) return [];
  const log = run.client.openSandboxLog(run.id);
  try {
    const isWhole = () => log.getSnapshot().isComplete && log.getSnapshot().stats.head >= stored.length;
    await wait(world, () => `the log of ${run.id} is whole`, isWhole);
    const seqs = log.getSnapshot().events.map((event) => event.seq);
    return JSON.stringify(seqs) === JSON.stringify(stored.map((event) => event.seq))
      ? []
      : [`the log of ${run.id} is not what is stored`];
  } finally {
    log.close();
  }
}

const readEnd = (path: string) => {
  try {
    return readFileSync(path, "utf8").split("\n").slice(-15).join("\n");
  } catch {
    // Expected: it never got so far.
    return "";
  }
};

/** Resolves to what is wrong, with all that helps to find out why. */
export async function runSchedule(
  world: World,
  plan: Plan,
  /** What it begins is waited for before the worker is told to end. */
  onStart: (run: Run) => void | Promise<void> = () => {},
): Promise<readonly string[]> {
  const run = await start(world, plan);
  const begun = onStart(run);
  const complaints: string[] = [];
  try {
    for (const deed of plan.deeds) await perform(world, run, deed);
    await begun;
    await wait(
      world,
      () => `${run.id} has ended and was given its ${run.sent.length} messages`,
      () => hasConverged(run),
    );
    await wait(
      world,
      () => `all messages of ${run.id} are seen`,
      async () => (await askStore(world, (db) => listFates(db, run.id))).every(({ state }) => state === "seen"),
      LOOK_INTO_STORE_MS,
    );
    await run.worker.stop(() => waitUntilDrained(world, run));
    complaints.push(...(await judge(world, run, plan)));
  } catch (error) {
    // Expected: a fact that did not come true, which is what this looks for.
    complaints.push(String(error), ...run.complaints, ...run.worker.complaints);
    const stored = await listStored(world.server.db, run.id).catch(() => []);
    complaints.push(...complainOfStore(stored, readAccepted(run.worker.acceptLog)), ...complainOfScript(stored, plan));
  }
  run.own.close();
  await run.worker.end();
  if (complaints.length === 0) return [];
  const { deeds, faults, ...shape } = plan;
  return [
    ...complaints.map((complaint) => `schedule ${plan.index}, ${run.id}: ${complaint}`),
    `its plan: ${JSON.stringify(shape)} ${JSON.stringify({ deeds, faults })}`,
    `its worker's last words:\n${readEnd(join(world.directory, run.id, "worker.log"))}`,
  ];
}
