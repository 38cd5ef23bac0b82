/** What nobody has read goes on with a run.
 *  Broken on purpose, each seen here: messages of one that has not ended taken from its worker; a copy made twice; a copy that its own
 *  sandbox lost not made again; what the memory holds told again. */
import type { CreatedSandbox, MessageRecord } from "@drover/contract";
import { expect } from "vitest";
import { test, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";

const send = async (server: TestServer, { id }: { id: string }, content: string) =>
  (await server.call("POST", `/sandboxes/${id}/messages`, { body: { content } })).body.message_id as string;

const save = ({ post }: TestSandbox) =>
  post({
    event_type: "agent.transcript_saved",
    event_data: { turn: 1, kind: "mark", session_id: "s", mark: {} },
  });

/** A run that can be gone on with. */
async function begin(server: TestServer): Promise<TestSandbox> {
  const sandbox = await server.createSandbox({ runtime: "scripted" });
  await save(sandbox);
  return sandbox;
}

const lease = ({ id, token }: TestSandbox, server: TestServer) =>
  server.call("GET", `/sandboxes/${id}/messages?lease=300`, { token });

const end = (server: TestServer, { id }: { id: string }) => server.call("DELETE", `/sandboxes/${id}`);

async function resume(server: TestServer, from: { id: string }, more = {}): Promise<CreatedSandbox> {
  const answer = await server.call("POST", "/sandboxes", {
    body: { resume_from: from.id, resume_fresh: true, ...more },
  });
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return answer.body as CreatedSandbox;
}

async function readMessages(server: TestServer, { id }: { id: string }) {
  const { body } = await server.call("GET", `/sandboxes/${id}/messages/history`);
  return (body.items as MessageRecord[]).map(({ content, state }) => `${content} ${state}`);
}

test("of a sandbox that has ended everything goes on that its agent has not seen, in order, and only once", async ({
  server,
}) => {
  const first = await begin(server);
  const seen = await send(server, first, "seen");
  await server.call("POST", `/sandboxes/${first.id}/messages/${seen}/ack`, {
    token: first.token,
    body: { status: "seen" },
  });
  await send(server, first, "held");
  await lease(first, server);
  await send(server, first, "waiting");
  await end(server, first);

  const second = await resume(server, first);
  expect(await readMessages(server, second)).toEqual(["held queued", "waiting queued"]);
  expect(await readMessages(server, first)).toEqual(["seen seen", "held expired", "waiting expired"]);
  expect(await readMessages(server, await resume(server, first))).toEqual([]);

  // What the copy's own sandbox did not get to goes on with whoever resumes, from either of them, and again once.
  await end(server, second);
  expect(await readMessages(server, await resume(server, first))).toEqual(["held queued", "waiting queued"]);
  expect(await readMessages(server, await resume(server, first))).toEqual([]);
});

test("of a sandbox that has not ended only what nobody holds goes on, and is void there", async ({ server }) => {
  const first = await begin(server);
  await send(server, first, "held");
  await lease(first, server);
  await send(server, first, "waiting");
  expect(await readMessages(server, await resume(server, first))).toEqual(["waiting queued"]);
  expect(await readMessages(server, first)).toEqual(["held leased", "waiting expired"]);
  expect((await lease(first, server)).body).toEqual([]);
});

test("what stands in the memory that is gone on with is not told again, nor an interrupt, nor to a copy of an earlier moment", async ({
  server,
}) => {
  const first = await begin(server);
  const known = await send(server, first, "known");
  await first.post({ event_type: "agent.message_injected", event_data: { turn: 1, message_id: known } });
  await save(first);
  await server.call("POST", `/sandboxes/${first.id}/messages`, {
    body: { content: "stop", message_type: "interrupt" },
  });
  await send(server, first, "new");
  await end(server, first);
  const fork = await server.call("POST", `/sandboxes/${first.id}/fork`, { body: { at_seq: 1_000_000, fresh: true } });
  expect(await readMessages(server, fork.body)).toEqual([]);
  expect(await readMessages(server, await resume(server, first))).toEqual(["new queued"]);
});
