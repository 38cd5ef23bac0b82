/** Splits, syncs, titles, phases, what is in a ticket's way, and agents as their sandboxes show them. */
import { createHash } from "node:crypto";
import type { ProjectId, StoredEvent, Task, TokenId } from "@drover/contract";
import { expect, vi } from "vitest";
import { startJudgeModel, toAnswer, withJudge } from "../../../testkit/src/judge.ts";
import { test, type TestServer } from "../../../testkit/src/server.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { cleanUpStale } from "./list-agents.ts";
import { generateTitle } from "./name-tasks.ts";
import { after, becomes, createWork, FACT_MS, finish, takeOver } from "../../../testkit/src/work.ts";

vi.setConfig({ testTimeout: 120_000 });

const ADMIN: Person = {
  kind: "person",
  tokenId: "tok-000000000000" as TokenId,
  name: "me",
  grant: { role: "admin", projectId: null },
  expiresAt: null,
};

async function listTold(server: TestServer, type: string): Promise<readonly StoredEvent["event_data"][]> {
  const { body } = await server.call("GET", `/events?limit=500&event_type=${type}`);
  return (body.events as readonly StoredEvent[]).map(({ event_data }) => event_data);
}

test("a task is split into several that run beside each other, and what comes next waits for all", async ({
  server,
}) => {
  const work = await createWork(server);
  const first = await work.add("first");
  const last = await work.add("last", after(first));
  const body = { tasks: [{ title: "left" }, { title: "right" }], continuation_task_id: last.id };
  const split = await server.call("POST", `/tasks/${first.id}/split`, { body });
  expect(split.status).toBe(201);
  const [left, right] = split.body.tasks as readonly Task[];
  if (left === undefined || right === undefined) throw new Error(split.text);
  expect(left).toMatchObject({ parent_task_id: first.id, dependencies: { depends_on: [first.id] } });
  const circle = await server.call("POST", `/tasks/${last.id}/split`, {
    body: { tasks: [{ title: "x" }], continuation_task_id: right.id },
  });
  expect(circle.body.type).toBe("urn:drover:error:graph.cycle");
  const made = await server.call("POST", "/syncs", { body: { task_ids: [left.id, right.id], required_count: 1 } });
  expect(made.body).toMatchObject({ status: "waiting", required_count: 1, completed_count: 0 });
  const late = await server.call("POST", "/syncs", { body: { task_ids: [last.id], timeout_seconds: 1 } });
  const never = await server.call("POST", "/syncs", { body: { task_ids: [last.id], required_count: 2 } });
  expect(never.status).toBe(422);

  await finish(server, first);
  await takeOver(server, right);
  await finish(server, left);
  const read = (id: string) => async () => (await server.call("GET", `/syncs/${id}`)).body.status;
  await expect.poll(read(made.body.sync_id), { timeout: FACT_MS }).toBe("reached");
  await expect.poll(read(late.body.sync_id), { timeout: FACT_MS }).toBe("timed_out");
  expect(await listTold(server, "coordination.sync.reached")).toMatchObject([{ sync_id: made.body.sync_id }]);
  expect(await listTold(server, "coordination.sync.timed_out")).toMatchObject([{ sync_id: late.body.sync_id }]);
  expect(await listTold(server, "coordination.split.created")).toMatchObject([{ task_ids: [left.id, right.id] }]);
  await finish(server, right);
  await finish(server, last);
  await becomes(server, last, "completed");

  const stranger = await server.createToken("viewer", await server.createProject());
  const hidden = await server.call("GET", `/syncs/${made.body.sync_id}`, { token: stranger.token });
  expect(hidden.status).toBe(404);
});

test("tasks are named by what is to be done", async ({ server }) => {
  const work = await createWork(server, {}, { title: "names" });
  const create = (more: object) => server.call("POST", "/tasks", { body: { ticket_id: work.ticketId, ...more } });
  const unnamed = await create({ description: "mend the fence. It is broken." });
  expect(unnamed.body.title).toBe("Mend the fence");
  const typed = await create({ title: "run tests", task_type: "run_tests", description: "count the sheep" });
  const named = await server.call("POST", "/tasks/generate-titles", { body: {} });
  expect(named.body.tasks).toMatchObject([{ id: typed.body.id, title: "Count the sheep" }]);
  const bare = await create({ title: "x" });
  const again = await server.call("POST", `/tasks/${bare.body.id}/generate-title`, { body: { context: "shear them" } });
  expect(again.body).toMatchObject({ id: bare.body.id, title: "Shear them", title_origin: "rule" });

  // A model names it where there is one; what it says is cut like any other text, and what it has no answer to the rule names.
  let title: string | undefined;
  const model = await startJudgeModel((request) => ({
    ...(title === undefined ? { text: "I do not know." } : toAnswer(request, { title })),
    usage: { input: 20, output: 5 },
  }));
  const deps = await withJudge(server, model, "compatible");
  const name = (given: string | undefined) => {
    title = given;
    return generateTitle(deps, ADMIN, typed.body.id, undefined, new AbortController().signal);
  };
  expect(await name("**Count all sheep.** Then sleep.")).toMatchObject({
    title: "Count all sheep",
    title_origin: "model",
  });
  const shown = model.requests.map(({ texts }) => texts.map(({ text }) => text).join("\n"));
  expect(shown).toEqual([expect.stringContaining("Type: run_tests\ncount the sheep")]);
  expect(await name(undefined)).toMatchObject({ title: "Count the sheep", title_origin: "rule" });
  const { items } = (await server.call("GET", `/costs/records?task_id=${typed.body.id}`)).body;
  // One that answered, and two that did not: each is paid for.
  expect(items).toMatchObject(Array.from({ length: 3 }, () => ({ purpose: "title", total_tokens: 25 })));
});

test("a phase begins with one task, is done when its tasks are, and a ticket says what is in its way", async ({
  server,
}) => {
  const work = await createWork(server, {}, { title: "phases", description: "what is wanted" });
  const ask = (what: string, body: object = {}) => server.call("POST", `/tickets/${work.ticketId}/${what}`, { body });
  const phase = { phase_id: "PHASE_TESTING" };
  expect((await ask("spawn-phase-tasks", { phase_id: "PHASE_BACKLOG" })).status).toBe(409);
  const made = await ask("spawn-phase-tasks", phase);
  expect(made.body.tasks).toMatchObject([{ task_type: "run_tests", title: "Test: phases", phase_id: "PHASE_TESTING" }]);
  expect((await ask("spawn-phase-tasks", phase)).body.tasks).toEqual([]);
  const [task] = made.body.tasks as [Task];
  expect((await ask("check-phase-completion", phase)).body).toMatchObject({
    is_complete: false,
    open_task_ids: [task.id],
    next_phase_id: "PHASE_DEPLOYMENT",
  });
  expect((await ask("detect-blocking")).body).toMatchObject({ is_blocked: false, reasons: [] });
  const next = await work.add("waits", after(task));
  await server.call("POST", `/tasks/${task.id}/fail`, { body: { reason: "no sheep" } });
  await becomes(server, next, "blocked");
  await server.call("POST", `/tickets/${work.ticketId}/block`, { body: { reason: "environment" } });
  const { body } = await ask("detect-blocking");
  expect(body.is_blocked).toBe(true);
  expect(body.reasons).toMatchObject([
    { kind: "flag", detail: "environment" },
    { kind: "task", id: task.id, detail: expect.stringContaining("no sheep") },
    { kind: "task", id: next.id },
  ]);
});

test("agents are what their sandboxes are, and a program of one's own registers as one", async ({ server }) => {
  const project_id = await server.createProject();
  const registered = await server.call("POST", "/agents/register", {
    body: { agent_name: "collie", agent_type: "claude", capabilities: ["herding", "barking"], project_id },
  });
  expect(registered.status).toBe(201);
  const { agent_id, worker_token } = registered.body;
  expect(registered.body).toMatchObject({ agent_name: "collie", status: "SPAWNING", project_id });
  const post = (path: string, body: unknown) =>
    server.call("POST", `/sandboxes/${agent_id}/${path}`, { token: worker_token, body });
  await post("events", { event_type: "agent.started" });
  await post("heartbeat", {});
  const health = await server.call("GET", `/agents/${agent_id}/health`);
  expect(health.body).toMatchObject({ agent_id, status: "RUNNING", health_status: "alive" });
  expect(health.body.seconds_since_heartbeat).toBeLessThan(60);
  const list = (query: string) => server.call("GET", `/agents?project_id=${project_id}${query}`);
  const only = [{ agent_id, capabilities: ["herding", "barking"] }];
  expect((await list("&status=RUNNING&capability=herding")).body.items).toMatchObject(only);
  expect((await list("&capability=singing")).body.items).toEqual([]);
  expect((await list("&status=IDLE")).body.items).toEqual([]);
  expect((await server.call("GET", `/agents/statistics?project_id=${project_id}`)).body).toEqual({
    total_agents: 1,
    by_status: { RUNNING: 1 },
    by_type: { claude: 1 },
  });
  expect((await server.call("GET", `/agents/stale?project_id=${project_id}`)).body.items).toEqual([]);
  const stranger = await server.createToken("viewer", await server.createProject());
  expect((await server.call("GET", `/agents/${agent_id}`, { token: stranger.token })).status).toBe(404);
});

test("agents are found by what they can do, changed, and heard of as older programs speak", async ({ server }) => {
  const project_id = await server.createProject();
  const register = async (agent_name: string, capabilities: readonly string[]) =>
    (await server.call("POST", "/agents/register", { body: { agent_name, capabilities, project_id } })).body;
  const [shepherd, cook] = [await register("shepherd", ["count", "shear"]), await register("cook", ["cook"])];
  const find = async (capabilities: string) =>
    (await server.call("GET", `/agents/best-fit?project_id=${project_id}&capabilities=${capabilities}`)).body;
  expect(await find("count,shear")).toMatchObject({ agent: { agent_id: shepherd.agent_id }, match_score: 1 });
  expect(await find("count,cook")).toEqual({ agent: null, match_score: 0 });
  const found = await server.call("GET", `/agents/search?project_id=${project_id}&capabilities=count,cook,shear`);
  expect(found.body.items.map((one: { agent_name: string }) => one.agent_name)).toEqual(["shepherd", "cook"]);
  const path = `/agents/${cook.agent_id}`;
  const body = { capabilities: ["cook", "count", "shear"] };
  expect((await server.call("PATCH", path, { body })).body).toMatchObject({ agent_name: "cook", ...body });
  await server.call("POST", `/agents/${shepherd.agent_id}/availability`, { body: { available: false } });
  expect(await find("count,shear")).toMatchObject({ agent: { agent_id: cook.agent_id } });

  const token = cook.worker_token as string;
  await server.call("POST", `/sandboxes/${cook.agent_id}/events`, { token, body: { event_type: "agent.started" } });
  const beat = { agent_id: cook.agent_id, sequence_number: 7, status: "running" };
  const checksum = createHash("sha256")
    .update(JSON.stringify({ agent_id: beat.agent_id, sequence_number: 7, status: "running" }))
    .digest("hex");
  const heard = await server.call("POST", `${path}/heartbeat`, { token, body: { ...beat, checksum } });
  expect(heard.body).toMatchObject({ agent_id: cook.agent_id, sequence_number: 7, received: true });
  const wrong = await server.call("POST", `${path}/heartbeat`, { token, body: { ...beat, status: "idle", checksum } });
  expect(wrong.status).toBe(422);
  const event = { agent_id: cook.agent_id, event_type: "agent.message", event_data: { content: "soup" } };
  expect((await server.call("POST", "/agent-events", { token, body: event })).body).toMatchObject({ logged: true });
  const foreign = { ...event, agent_id: shepherd.agent_id };
  expect((await server.call("POST", "/agent-events", { token, body: foreign })).status).toBe(404);
  expect((await server.call("POST", "/agent-events", { body: event })).status).toBe(403);
  const events = (await server.call("GET", `/sandboxes/${cook.agent_id}/events?source=agent`)).body.events;
  expect(events[0]).toMatchObject({ event_type: "agent.message", event_data: { content: "soup" } });

  // Only who counts as dead is ended: by a clock of our own, so that nobody else ends it before.
  const in1h: Deps = { ...server.deps, clock: { ...server.deps.clock, now: () => new Date(Date.now() + 3_600_000) } };
  const id = project_id as ProjectId;
  expect(await cleanUpStale(server.deps, ADMIN, id)).toEqual({ cleaned_count: 0, agent_ids: [] });
  expect(await cleanUpStale(in1h, ADMIN, id)).toEqual({ cleaned_count: 1, agent_ids: [cook.agent_id] });
  expect((await server.call("GET", path)).body.status).toBe("TERMINATED");
});
