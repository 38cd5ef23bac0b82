/** The desk believes a worker by its token, for its own sandbox, and stores what it says once.
 *  Broken on purpose, each seen here: any token is good; any sandbox; what only a server writes; the same event twice; a run that is over. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseAgentOptions, type Assignment, type SandboxId } from "@drover/contract";
import { expect, onTestFinished, test } from "vitest";
import { openDesk } from "./desk.ts";
import type { RunEvent } from "./run-result.ts";

const ID = "drover-0badc0de-0badc0" as SandboxId;
const TOKEN = "the-token-of-this-run";
const ASSIGNMENT: Assignment = {
  sandbox_id: ID,
  generation: 1,
  task_id: null,
  ticket_title: null,
  prompt: "Count",
  runtime: "scripted",
  model: null,
  branch: null,
  git_path: null,
  script: null,
  agent: parseAgentOptions({}),
  continuous: false,
  continuous_options: null,
  budget_usd: null,
  spent_usd: null,
  timeout_s: null,
  resume: null,
  heartbeat_interval_s: 30,
  post_completion_s: 0,
};

async function startDesk() {
  const told: RunEvent[] = [];
  let models = 0;
  const passModel = async (_: unknown, response: { end(): unknown }) => {
    models += 1;
    response.end();
  };
  const desk = openDesk({ assignment: ASSIGNMENT, token: TOKEN, passModel, onEvent: (event) => void told.push(event) });
  const server = createServer(desk.handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const ask = async (path: string, body?: unknown, token = TOKEN, id: string = ID) => {
    const answer = await fetch(
      `http://127.0.0.1:${port}/api/v1${path.startsWith("/gateway") ? "" : `/sandboxes/${id}`}${path}`,
      {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${token}`, connection: "close" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
    );
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  return { desk, told, ask, models: () => models };
}

test("without the token, or for another sandbox, nothing is answered, stored or asked of a model", async () => {
  const { told, ask, models } = await startDesk();
  const event = { event_type: "agent.message", event_data: { content: "forged" } };
  for (const token of ["", "another-token", `${TOKEN}x`]) {
    expect((await ask("/assignment", undefined, token)).status).toBe(401);
    expect((await ask("/events", event, token)).status).toBe(401);
    expect((await ask("/gateway/anthropic/v1/messages", {}, token)).status).toBe(401);
  }
  expect((await ask("/events", event, TOKEN, "drover-00000000-000000")).status).toBe(404);
  expect([told, models()]).toEqual([[], 0]);
  expect((await ask("/assignment")).body).toMatchObject({ sandbox_id: ID, prompt: "Count" });
});

test("what a worker says is stored once, all of a batch or nothing, and not after the end", async () => {
  const { desk, told, ask } = await startDesk();
  const say = (client_event_id: string) => ({ event_type: "agent.message", event_data: {}, client_event_id });
  expect((await ask("/events", { events: [say("a"), say("b")] })).body).toMatchObject({ accepted: 2, duplicates: 0 });
  expect((await ask("/events", { events: [say("b"), say("c")] })).body).toMatchObject({ accepted: 1, duplicates: 1 });
  const reserved = { event_type: "agent.usage", event_data: { cost_usd: 0 } };
  expect((await ask("/events", { events: [say("d"), reserved] })).status).toBe(422);
  expect((await ask("/events", { ...say("e"), event_data: { text: "x".repeat(300_000) } })).status).toBe(413);
  expect(told.map(({ client_event_id, sandbox_seq }) => [client_event_id, sandbox_seq])).toEqual([
    ["a", 1],
    ["b", 2],
    ["c", 3],
  ]);
  desk.end();
  expect((await ask("/events", say("f"))).status).toBe(409);
  expect((await ask("/messages?wait=30&lease=30")).status).toBe(409);
  expect(told).toHaveLength(3);
});
