/** What is said about work is kept, told and read by whoever may, and by nobody else. Broken on purpose, each seen to fail here: an agent
 *  says more than it may; a ticket with running tasks is resolved; a broadcast reaches another ticket; an event of a foreign task is
 *  taken. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { becomes, createWork, finish, loadTask, takeOver, type Work } from "../../../testkit/src/work.ts";

vi.setConfig({ testTimeout: 120_000 });

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const typesOf = async (ticketId: string): Promise<readonly string[]> =>
  (await server.call("GET", `/tickets/${ticketId}/history?limit=500`)).body.items.map(
    (one: { event_type: string }) => one.event_type,
  );

const say = (work: Work, comment_text: string, more = {}) =>
  server.call("POST", `/tickets/${work.ticketId}/comments`, { body: { comment_text }, ...more });

test("what people and the agent say on a ticket is kept with their names, newest first", async () => {
  const work = await createWork(server);
  const worker = await takeOver(server, await work.add("asks back"));
  expect((await say(work, "begin with the parser")).status).toBe(201);
  const asked = await worker.post("comments", { comment_text: "which parser?", comment_type: "question" });
  expect(asked.body).toMatchObject({ author_type: "agent", author_id: worker.sandboxId, ticket_id: work.ticketId });
  const { token } = await server.createToken("operator", work.projectId);
  await say(work, "the old one", { token });
  const first = (await server.call("GET", `/tickets/${work.ticketId}/comments?limit=2`)).body;
  expect(first.items).toMatchObject([
    { comment_text: "the old one", author_type: "person", comment_type: "general" },
    { comment_text: "which parser?", author_type: "agent", comment_type: "question" },
  ]);
  const next = await server.call("GET", `/tickets/${work.ticketId}/comments?limit=2&cursor=${first.next_cursor}`);
  expect(next.body).toMatchObject({ items: [{ comment_text: "begin with the parser" }], next_cursor: null });
  expect((await typesOf(work.ticketId)).filter((type) => type === "TICKET_COMMENTED")).toHaveLength(3);
});

test("nobody comments where they may not, and a repeated request says it once", async () => {
  const [work, other] = [await createWork(server), await createWork(server)];
  const worker = await takeOver(server, await work.add("says too much"));
  const [viewer, stranger] = await Promise.all([
    server.createToken("viewer", work.projectId),
    server.createToken("operator", other.projectId),
  ]);
  expect((await say(work, "no", { token: viewer.token })).status).toBe(403);
  expect((await say(work, "no", { token: stranger.token })).status).toBe(404);
  expect((await say(work, "no", { token: worker.token })).status).toBe(403);
  expect((await say(work, " ")).status).toBe(422);
  const twice = { headers: { "idempotency-key": crypto.randomUUID() } };
  const [one, again] = [await say(work, "once", twice), await say(work, "once", twice)];
  expect(again.body).toEqual(one.body);
  const mine = await worker.post("comments", { comment_text: "resolved!", comment_type: "resolution" });
  expect(mine.status).toBe(422);
  const tell = () => worker.post("comments", { comment_text: "x" }, twice.headers);
  expect((await tell()).body).toEqual((await tell()).body);
  const said = await Promise.all(Array.from({ length: 100 }, () => worker.post("comments", { comment_text: "x" })));
  expect(said.filter(({ status }) => status === 201)).toHaveLength(99);
  expect(said.find(({ status }) => status !== 201)?.body.type).toBe("urn:drover:error:task.limit_reached");
  const listed = (await server.call("GET", `/tickets/${work.ticketId}/comments?limit=500`)).body.items;
  expect(listed).toHaveLength(101);
});

test("a ticket that is resolved is done with its reason, what waited is cancelled, and what waited for it goes on", async () => {
  const work = await createWork(server);
  const begun = await work.add("under way");
  const worker = await takeOver(server, begun);
  await worker.say("agent.started");
  const waiting = await work.add("never begun", { dependencies: { depends_on: [begun.id] } });
  const body = { title: "comes after", project_id: work.projectId, dependencies: { blocked_by: [work.ticketId] } };
  const next = (await server.call("POST", "/tickets", { body })).body.id;
  const held = (await server.call("POST", "/tasks", { body: { ticket_id: next, title: "held" } })).body;
  const resolve = (id = work.ticketId) =>
    server.call("POST", `/tickets/${id}/resolve`, { body: { resolution_comment: "done by hand" } });
  const early = await resolve();
  expect([early.status, early.body.type]).toEqual([409, "urn:drover:error:ticket.illegal_transition"]);
  expect(early.body.detail).toContain(begun.id);
  expect((await server.call("POST", `/tasks/${begun.id}/cancel`, { body: {} })).status).toBe(200);
  const done = await resolve();
  expect(done.body).toMatchObject({ status: "done", phase_id: "PHASE_DONE" });
  await becomes(server, waiting, "cancelled");
  expect((await loadTask(server, waiting.id)).error_message).toBe("Task cancelled: its ticket is done");
  const [said] = (await server.call("GET", `/tickets/${work.ticketId}/comments`)).body.items;
  expect(said).toMatchObject({ comment_type: "resolution", comment_text: "done by hand" });
  const [step] = (await server.call("GET", `/tickets/${work.ticketId}/phase-history`)).body.items;
  expect(step).toMatchObject({ to_status: "done", reason: "done by hand" });
  await finish(server, held);
  await becomes(server, held, "completed");
  expect((await resolve()).status).toBe(409);
});

test("an event told by way of a task is one of the sandbox that works on it, and of no other", async () => {
  const work = await createWork(server);
  const [mine, other] = [await work.add("mine"), await work.add("other")];
  const [worker, stranger] = [await takeOver(server, mine), await takeOver(server, other)];
  const tell = (id: string, body: object, token = worker.token) =>
    server.call("POST", `/tasks/${id}/events`, { token, body: { event_type: "tool.note", ...body } });
  const told = await tell(mine.id, { event_data: { message: "half way" }, agent_id: worker.sandboxId });
  expect(told.body).toMatchObject({ success: true, task_id: mine.id, sandbox_id: worker.sandboxId });
  const log = await server.call("GET", `/sandboxes/${worker.sandboxId}/events?event_type=tool.note`);
  expect(log.body.events).toMatchObject([{ seq: told.body.seq, event_data: { message: "half way" }, source: "agent" }]);
  expect((await tell(other.id, {})).status).toBe(404);
  expect((await tell(mine.id, { agent_id: stranger.sandboxId })).status).toBe(404);
  expect((await tell(mine.id, { event_type: "TASK_COMPLETED" })).body.type).toBe("urn:drover:error:event.reserved");
  expect((await server.call("POST", `/tasks/${mine.id}/events`, { body: { event_type: "tool.note" } })).status).toBe(
    403,
  );
});

test("a broadcast reaches every agent of the ticket that is at work, through its own queue and once", async () => {
  const [work, other] = [await createWork(server), await createWork(server)];
  const [one, two, over, foreign] = [
    await takeOver(server, await work.add("one")),
    await takeOver(server, await work.add("two")),
    await finish(server, await work.add("over")),
    await takeOver(server, await other.add("foreign")),
  ];
  await Promise.all([one, two, foreign].map((worker) => worker.say("agent.started")));
  const state = async () => (await server.call("GET", `/sandboxes/${over.sandboxId}`)).body.state;
  await expect.poll(state).not.toBe("running");
  const tell = (body: object, more = {}) =>
    server.call("POST", "/collaboration/broadcast", { body: { content: "the API is frozen", ...body }, ...more });
  const key = { headers: { "idempotency-key": crypto.randomUUID() } };
  const sent = await tell({ ticket_id: work.ticketId }, key);
  expect(sent.status).toBe(201);
  const reached = sent.body.recipients.map((to: { sandbox_id: string }) => to.sandbox_id);
  expect(reached.toSorted()).toEqual([one.sandboxId, two.sandboxId].toSorted());
  expect((await tell({ ticket_id: work.ticketId }, key)).body).toEqual(sent.body);
  const read = ({ sandboxId, token }: typeof one) =>
    server.call("GET", `/sandboxes/${sandboxId}/messages?lease=30`, { token });
  const [mine] = (await read(one)).body;
  expect(mine).toMatchObject({ content: "the API is frozen", message_type: "user_message" });
  const seen = { token: one.token, body: { status: "seen" } };
  expect((await server.call("POST", `/sandboxes/${one.sandboxId}/messages/${mine.id}/ack`, seen)).body.state).toBe(
    "seen",
  );
  expect((await read(two)).body).toHaveLength(1);
  expect((await read(foreign)).body).toEqual([]);
  const [viewer, stranger] = await Promise.all([
    server.createToken("viewer", work.projectId),
    server.createToken("operator", other.projectId),
  ]);
  expect((await tell({ ticket_id: work.ticketId }, { token: viewer.token })).status).toBe(403);
  expect((await tell({ ticket_id: work.ticketId }, { token: stranger.token })).status).toBe(404);
  expect((await tell({ project_id: work.projectId }, { token: stranger.token })).status).toBe(404);
  expect((await tell({}, { token: one.token })).status).toBe(403);
  expect((await tell({}, { token: stranger.token })).body.recipients).toMatchObject([
    { sandbox_id: foreign.sandboxId },
  ]);
});
