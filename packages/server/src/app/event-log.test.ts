/** Every state of a sandbox and everything a worker can say: the row, the log and the table agree. */
import { decideStates, SANDBOX, step } from "@drover/core";
import { SandboxState, TERMINAL_SANDBOX_STATES } from "@drover/contract";
import { describe, expect } from "vitest";
import { isSync } from "../../../testkit/src/live-stream.ts";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { startTestServer, test, type TestServer } from "../../../testkit/src/server.ts";
import { openSeverablePostgres } from "../../../testkit/src/severed-postgres.ts";
import { sql } from "../store/sql.ts";

const SAYINGS = [
  "sandbox.provisioning",
  "agent.started",
  "agent.heartbeat",
  "agent.message",
  "agent.completed",
  "agent.failed",
];

/** Not every state can be reached over HTTP by `external` sandboxes; the store takes all of them. */
const force = (server: TestServer, id: string, state: SandboxState) =>
  server.db.query(sql`update sandboxes set state = ${state} where id = ${id}`);

const transitionsOf = async (server: TestServer, id: string): Promise<readonly string[]> => {
  const { body } = await server.call("GET", `/sandboxes/${id}/events?event_type=STATE_CHANGED&order=asc`);
  return body.events
    .slice(1)
    .map((event: { event_data: { from: string; to: string } }) => `${event.event_data.from} ${event.event_data.to}`);
};

describe.for(SandboxState.options)("a sandbox that is %s", (from) => {
  test.for(SAYINGS)("hears %s", async (event_type, { server, sandbox }) => {
    await force(server, sandbox.id, from);
    expect((await sandbox.post({ event_type })).status).toBe(200);
    const states = decideStates(from, event_type);
    const { body } = await server.call("GET", `/sandboxes/${sandbox.id}`);
    expect(body.state).toBe(states.at(-1) ?? from);
    expect(await transitionsOf(server, sandbox.id)).toEqual(
      states.map((to, index) => `${states[index - 1] ?? from} ${to}`),
    );
  });

  test("is terminated", async ({ server, sandbox }) => {
    await force(server, sandbox.id, from);
    const next = step(SANDBOX, from, "terminated");
    const { status, body } = await server.call("DELETE", `/sandboxes/${sandbox.id}`);
    expect([status, body.state]).toEqual([200, next.ok ? next.to : from]);
    expect(TERMINAL_SANDBOX_STATES.has(body.state)).toBe(true);
    expect(await transitionsOf(server, sandbox.id)).toEqual(next.ok ? [`${from} ${next.to}`] : []);
  });
});

test("a stream outlives its database and misses nothing", async () => {
  await using database = await createDatabase();
  await using way = await openSeverablePostgres(database.url);
  await using server = await startTestServer({ database: { url: way.url, db: database.db } });
  await using other = await startTestServer({ database });
  const sandbox = await other.createSandbox();
  const stream = await server.openStream({ query: { after_seq: 0, entity_ids: sandbox.id } });
  await stream.next(isSync);
  await way.cut();
  for (let n = 0; n < 10; n += 1) await sandbox.post({ event_type: "agent.message", event_data: { n } });
  expect(stream.events().some((frame) => frame.payload["n"] !== undefined)).toBe(false);
  await way.mend();
  await stream.until(() => stream.events().some((frame) => frame.payload["n"] === 9));
  const numbers = stream.events().flatMap((frame) => frame.payload["n"] ?? []);
  expect(numbers).toEqual(Array.from({ length: 10 }, (_, n) => n));
});
