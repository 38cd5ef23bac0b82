/** The design this product replaces, as one route: one row, one commit and one publish per POST, no batches. */
import { randomUUID } from "node:crypto";
import Fastify from "fastify";
import { Redis } from "ioredis";
import pg from "pg";
import { answer } from "./child.ts";
import { COLUMNS } from "./raw-insert.ts";
import { makeRow, type SampleEvent } from "./sample-event.ts";

const INSERT = `insert into old_events (${COLUMNS.join(",")})
  values (nextval('old_event_seq'), ${COLUMNS.slice(1)
    .map((_, index) => `$${index + 1}`)
    .join(",")}) returning seq`;

const app = Fastify({ logger: false });
let pool: pg.Pool | undefined;
let redis: Redis | undefined;

app.post<{ Params: { id: string }; Body: SampleEvent }>("/api/v1/sandboxes/:id/events", async ({ params, body }) => {
  const row = { ...makeRow(body, 0, { id: params.id, projectId: "project" }), id: randomUUID() };
  const values = COLUMNS.slice(1).map((column) => row[column]);
  const stored = await pool?.query<{ seq: string }>({ name: "insert", text: INSERT, values });
  const frame = {
    event_type: `SANDBOX_${body.event_type}`,
    entity_type: "sandbox",
    entity_id: params.id,
    payload: body.event_data,
  };
  await redis?.publish(`events.${frame.event_type}`, JSON.stringify(frame));
  return { status: "received", event_id: row.id, seq: Number(stored?.rows[0]?.seq) };
});

answer(
  {
    start: async (databaseUrl: string, redisUrl: string) => {
      pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
      redis = new Redis(redisUrl);
      await pool.query("create table old_events (like events including all)");
      await pool.query("create sequence old_event_seq");
      return app.listen({ host: "127.0.0.1", port: 0 });
    },
  },
  async () => {
    await app.close();
    redis?.disconnect();
    await pool?.end();
  },
);
