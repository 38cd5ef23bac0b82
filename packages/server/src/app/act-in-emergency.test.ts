import { expect } from "vitest";
import { test, type TestServer } from "../../../testkit/src/server.ts";

async function createTask(server: TestServer, project_id?: string) {
  const ticket = await server.call("POST", "/tickets", {
    body: { title: "Change the form", force_create: true, ...(project_id === undefined ? {} : { project_id }) },
  });
  const task = await server.call("POST", "/tasks", {
    body: { ticket_id: ticket.body.ticket?.id ?? ticket.body.id, title: "Change it", description: "Change it" },
  });
  return task.body.id as string;
}

const statusOf = async (server: TestServer, id: string) => (await server.call("GET", `/tasks/${id}`)).body;

test("a task is failed at once, with the reason kept, and taken back once", async ({ server }) => {
  const task_id = await createTask(server);
  // What the body claims about its sender is not believed.
  const body = { task_id, reason: "it deletes the database", initiated_by: "somebody", authority: 5 };
  const { status, body: action } = await server.call("POST", "/guardian/intervention/cancel-task", { body });
  expect(status).toBe(200);
  expect(action).toMatchObject({ action_type: "cancel_task", target_entity: task_id, reverted_at: null });
  expect(action.initiated_by).toMatch(/^tok-/);
  expect(await statusOf(server, task_id)).toMatchObject({
    status: "failed",
    error_message: "EMERGENCY CANCELLATION: it deletes the database",
  });
  const revert = () =>
    server.call("POST", `/guardian/actions/${action.action_id}/revert`, { body: { reason: "wrong" } });
  expect((await revert()).body).toMatchObject({
    audit_log: { revert_reason: "wrong" },
    reverted_at: expect.any(String),
  });
  expect((await statusOf(server, task_id)).status).not.toBe("failed");
  expect((await revert()).status).toBe(409);
});

test("a priority is overridden, and the old one comes back", async ({ server }) => {
  const task_id = await createTask(server);
  const body = { task_id, new_priority: "CRITICAL", reason: "the site is down" };
  const { body: action } = await server.call("POST", "/guardian/intervention/override-priority", { body });
  expect((await statusOf(server, task_id)).priority).toBe("CRITICAL");
  await server.call("POST", `/guardian/actions/${action.action_id}/revert`, { body: { reason: "it is up" } });
  expect((await statusOf(server, task_id)).priority).toBe("MEDIUM");
  const { items } = (await server.call("GET", `/guardian/actions?target_entity=${task_id}`)).body;
  expect(items).toMatchObject([{ action_id: action.action_id, audit_log: { before: { priority: "MEDIUM" } } }]);
});

test("only an admin may, and only in their own project", async ({ server }) => {
  const task_id = await createTask(server);
  const body = { task_id, reason: "no" };
  const { token: operator } = await server.createToken("operator");
  const { token: stranger } = await server.createToken("admin", await server.createProject());
  expect((await server.call("POST", "/guardian/intervention/cancel-task", { body, token: operator })).status).toBe(403);
  expect((await server.call("POST", "/guardian/intervention/cancel-task", { body, token: stranger })).status).toBe(404);
  expect((await server.call("GET", "/guardian/actions", { token: stranger })).body.items).toEqual([]);
});

test("room for tasks moves from one agent's project to another's, never all of it, and back", async ({ server }) => {
  const [giver, taker] = [await server.createProject(), await server.createProject()];
  await server.call("PATCH", `/projects/${giver}`, { body: { settings: { max_concurrent_tasks: 4 } } });
  const from = await server.createSandbox({ project_id: giver });
  const to = await server.createSandbox({ project_id: taker });
  const roomOf = async (id: string) => (await server.call("GET", `/projects/${id}`)).body.settings.max_concurrent_tasks;
  const post = (capacity: number, more: object = {}, token?: string) =>
    server.call("POST", "/guardian/intervention/reallocate", {
      body: { from_agent_id: from.id, to_agent_id: to.id, capacity, reason: "the other is late", ...more },
      ...(token === undefined ? {} : { token }),
    });
  const usual = server.deps.config.maxConcurrentTasksPerProject;
  const moved = await post(3);
  expect(moved.body).toMatchObject({ action_type: "reallocate_capacity", target_entity: to.id });
  expect([await roomOf(giver), await roomOf(taker)]).toEqual([1, usual + 3]);
  const told = await server.call("GET", "/events?event_type=guardian.resource.reallocated");
  expect(told.body.events).toMatchObject([{ event_data: { action_id: moved.body.action_id, capacity: 3 } }]);
  expect((await post(1)).status).toBe(422);
  expect((await post(1, { to_agent_id: giver })).status).toBe(422);
  expect((await post(1, { from_agent_id: "drover-00000000-000000" })).status).toBe(404);
  const admin = (await server.createToken("admin", giver)).token;
  expect((await post(1, {}, admin)).status).toBe(403);
  await server.call("POST", `/guardian/actions/${moved.body.action_id}/revert`, { body: { reason: "it is done" } });
  expect([await roomOf(giver), await roomOf(taker)]).toEqual([4, undefined]);
});
