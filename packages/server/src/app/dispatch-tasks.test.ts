/** A ticket's tasks run by themselves: claimed, given a sandbox, followed to their end. */
import type { Task, TaskStatus } from "@drover/contract";
import { expect } from "vitest";
import { test, type TestServer } from "../../../testkit/src/server.ts";
import { closeTicketByMerge } from "./close-ticket.ts";

const FACT_MS = 20_000;

async function createWork(server: TestServer, titles: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
  const project = await server.call("POST", "/projects", {
    body: {
      name: `work ${crypto.randomUUID()}`,
      autonomous_execution_enabled: true,
      settings: { provider: "external" },
    },
  });
  const ticket = await server.call("POST", "/tickets", { body: { title: "a ticket", project_id: project.body.id } });
  const tasks: Task[] = [];
  for (const title of titles) {
    const { status, body } = await server.call("POST", "/tasks", {
      body: { ticket_id: ticket.body.id, title, ...more },
    });
    expect(status).toBe(201);
    tasks.push(body);
  }
  return { projectId: project.body.id as string, ticketId: ticket.body.id as string, tasks };
}

const load = async (server: TestServer, id: string): Promise<Task> => (await server.call("GET", `/tasks/${id}`)).body;

async function becomes(server: TestServer, id: string, status: TaskStatus): Promise<void> {
  await expect.poll(async () => (await load(server, id)).status, { timeout: FACT_MS }).toBe(status);
}

/** A worker of the task's sandbox, as an external one would be started. */
async function takeOver(server: TestServer, id: string) {
  await becomes(server, id, "assigned");
  const { sandbox_id } = await load(server, id);
  const { body } = await server.call("POST", `/sandboxes/${sandbox_id}/worker-token`);
  const token: string = body.worker_token;
  return {
    sandboxId: sandbox_id ?? "",
    token,
    post: (event_type: string, event_data = {}) =>
      server.call("POST", `/sandboxes/${sandbox_id}/events`, { token, body: { event_type, event_data } }),
  };
}

test("a ready task is assigned, runs and is completed, and its ticket with it", async ({ server }) => {
  const { tasks, ticketId } = await createWork(server, ["one"]);
  const id = tasks[0]?.id ?? "";
  const agent = await takeOver(server, id);
  await agent.post("agent.started");
  await becomes(server, id, "running");
  await agent.post("agent.completed", { final_output: "it is done" });
  await becomes(server, id, "completed");
  const { body: attempts } = await server.call("GET", `/tasks/${id}/attempts`);
  expect(attempts.items).toMatchObject([
    { number: 1, kind: "work", outcome: "completed", sandbox_id: agent.sandboxId },
  ]);
  expect((await load(server, id)).result).toMatchObject({ final_output: "it is done" });
  expect((await server.call("GET", `/sandboxes/${agent.sandboxId}/task`)).body.id).toBe(id);
  await expect
    .poll(async () => (await server.call("GET", `/tickets/${ticketId}`)).body.status, { timeout: FACT_MS })
    .toBe("done");
});

test("a merge closes a ticket and what was still open of it, once", async ({ server }) => {
  const { tasks, ticketId } = await createWork(server, ["one"]);
  const agent = await takeOver(server, tasks[0]?.id ?? "");
  for (const _ of [1, 2]) await closeTicketByMerge(server.deps, ticketId, { pr_number: 7, commit: "c" });
  expect(await load(server, tasks[0]?.id ?? "")).toMatchObject({ status: "completed", result: { pr_number: 7 } });
  expect((await server.call("GET", `/tickets/${ticketId}`)).body.status).toBe("done");
  expect((await server.call("GET", `/sandboxes/${agent.sandboxId}`)).body.state).toBe("cancelled");
});
