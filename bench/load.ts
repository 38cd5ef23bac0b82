/** The load of the ingest benchmark, in a process of its own: the same events over HTTP, and as rows straight into PostgreSQL.
 *  Whatever is sent is made before the clock starts. */
import { Agent, request } from "node:http";
import pg from "pg";
import { answer } from "./child.ts";
import type { WorkerAccess } from "./drover.ts";
import { COLUMNS, toInsert } from "./raw-insert.ts";
import { makeEvent, makeRow } from "./sample-event.ts";

export interface Size {
  /** Requests or commits of each worker. */
  readonly rounds: number;
  readonly batch: number;
}

interface Post {
  readonly path: string;
  readonly token: string;
  readonly bodies: readonly Buffer[];
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
let lastEvent = 0;
let lastSeq = 0;
let posts: readonly Post[] = [];
let inserts: readonly (readonly (readonly unknown[])[])[] = [];
let clients: readonly pg.Client[] = [];

function send(url: URL, post: Post, body: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const asked = request(
    url,
    {
      method: "POST",
      agent,
      path: post.path,
      headers: {
        authorization: `Bearer ${post.token}`,
        "content-type": "application/json",
        "content-length": body.length,
      },
    },
    (reply) => {
      const chunks: Buffer[] = [];
      reply
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .on("end", () => {
          if (reply.statusCode === 200) resolve();
          else reject(new Error(`${reply.statusCode}: ${Buffer.concat(chunks).toString()}`));
        });
    },
  );
  asked.on("error", reject).end(body);
  return promise;
}

const makeEvents = (count: number) => Array.from({ length: count }, () => makeEvent(++lastEvent, `e-${lastEvent}`));

/** Runs one task per worker at once and returns the seconds until the last has ended. */
async function clock(tasks: readonly (() => Promise<void>)[]): Promise<number> {
  const since = performance.now();
  await Promise.all(tasks.map((task) => task()));
  return (performance.now() - since) / 1_000;
}

answer(
  {
    preparePosts: (workers: readonly WorkerAccess[], size: Size) => {
      posts = workers.map(({ id, token }) => ({
        path: `/api/v1/sandboxes/${id}/events`,
        token,
        bodies: Array.from({ length: size.rounds }, () => {
          const events = makeEvents(size.batch);
          return Buffer.from(JSON.stringify(size.batch === 1 ? events[0] : { events }));
        }),
      }));
    },
    runPosts: (url: string) => {
      const target = new URL(url);
      return clock(
        posts.map((post) => async () => {
          for (const body of post.bodies) await send(target, post, body);
        }),
      );
    },
    connect: async (url: string, connections: number) => {
      clients = Array.from({ length: connections }, () => new pg.Client({ connectionString: url }));
      await Promise.all(clients.map((client) => client.connect()));
    },
    prepareRows: (workers: readonly WorkerAccess[], size: Size) => {
      inserts = workers.map((worker) =>
        Array.from({ length: size.rounds }, () => {
          const rows = makeEvents(size.batch).map((event) => makeRow(event, ++lastSeq, worker));
          return rows.flatMap((row) => COLUMNS.map((column) => row[column]));
        }),
      );
    },
    /** One statement with all rows, one commit each, on one connection per worker. */
    runRows: (table: string, batch: number) => {
      const statement = toInsert(table, batch);
      return clock(
        inserts.map((batches, index) => async () => {
          for (const values of batches) await clients[index]?.query({ ...statement, values: [...values] });
        }),
      );
    },
  },
  async () => {
    await Promise.all(clients.map((client) => client.end()));
  },
);
