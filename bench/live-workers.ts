/** Workers as they are most of the time, in a process of their own: each holds a long-poll for messages, beats, and says something
 *  every other second. */
import { Agent, request } from "node:http";
import { answer } from "./child.ts";
import type { WorkerAccess } from "./drover.ts";
import { makeEvent } from "./sample-event.ts";

const SPEAK_MS = 2_000;
const BEAT_MS = 30_000;
const BATCH = 5;

const agent = new Agent({ keepAlive: true });
const timers = new Set<NodeJS.Timeout>();
const tally = { posted: 0, refused: 0, beats: 0, polls: 0 };
let isOver = false;
let lastEvent = 0;

function call(url: string, worker: WorkerAccess, method: string, path: string, body?: unknown): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const asked = request(
    `${url}/api/v1/sandboxes/${worker.id}${path}`,
    {
      method,
      agent,
      headers: {
        authorization: `Bearer ${worker.token}`,
        ...(bytes === undefined ? {} : { "content-type": "application/json", "content-length": bytes.length }),
      },
    },
    (reply) => reply.resume().once("close", () => resolve(reply.statusCode ?? 0)),
  );
  asked.once("error", () => resolve(0)).end(bytes);
  return promise;
}

async function poll(url: string, worker: WorkerAccess): Promise<void> {
  while (!isOver) {
    await call(url, worker, "GET", "/messages?lease=60&wait=25");
    tally.polls += 1;
  }
}

async function speak(url: string, worker: WorkerAccess): Promise<void> {
  const events = Array.from({ length: BATCH }, () => makeEvent(++lastEvent, `e-${lastEvent}`));
  const status = await call(url, worker, "POST", "/events", { events });
  if (status === 200) tally.posted += BATCH;
  else tally.refused += 1;
}

async function beat(url: string, worker: WorkerAccess): Promise<void> {
  await call(url, worker, "POST", "/heartbeat", { status: "alive" });
  tally.beats += 1;
}

answer(
  {
    /** They do not all speak at once: each begins at its own moment. */
    begin: (url: string, workers: readonly WorkerAccess[]) => {
      workers.forEach((worker, index) => {
        const share = index / workers.length;
        void poll(url, worker);
        for (const [work, every] of [
          [speak, SPEAK_MS],
          [beat, BEAT_MS],
        ] as const) {
          const first = setTimeout(() => {
            timers.delete(first);
            void work(url, worker);
            timers.add(setInterval(() => void work(url, worker), every));
          }, share * every);
          timers.add(first);
        }
      });
    },
    tally: () => ({ ...tally }),
  },
  async () => {
    isOver = true;
    for (const timer of timers) clearTimeout(timer);
    agent.destroy();
  },
);
