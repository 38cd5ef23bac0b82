/** Tickets and tasks for tests, and workers of their sandboxes, played by hand. */
import type { Sandbox, StoredEvent, Task, TaskAttempt, TaskStatus } from "@drover/contract";
import { expect } from "vitest";
import type { Answer } from "./http-call.ts";
import type { TestServer } from "./server.ts";

/** Generous: the machine may be busy with other things. */
export const FACT_MS = 40_000;

export interface Work {
  readonly projectId: string;
  readonly ticketId: string;
  add(title: string, more?: Readonly<Record<string, unknown>>): Promise<Task>;
}

/** A ticket of a project of its own, whose tasks start by themselves in sandboxes of provider `external`. */
export async function createWork(
  server: TestServer,
  settings: Readonly<Record<string, unknown>> = {},
  ticket: Readonly<Record<string, unknown>> = {},
): Promise<Work> {
  const project = await server.call("POST", "/projects", {
    body: {
      name: `work ${crypto.randomUUID()}`,
      autonomous_execution_enabled: true,
      settings: { provider: "external", ...settings },
    },
  });
  const created = await server.call("POST", "/tickets", {
    body: { title: "a ticket", project_id: project.body.id, ...ticket },
  });
  return {
    projectId: project.body.id,
    ticketId: created.body.id,
    add: async (title, more = {}) => {
      const answer = await server.call("POST", "/tasks", { body: { ticket_id: created.body.id, title, ...more } });
      if (answer.status !== 201) throw new Error(`create a task: ${answer.status} ${answer.text}`);
      return answer.body;
    },
  };
}

export const after = (...tasks: readonly Task[]) => ({ dependencies: { depends_on: tasks.map(({ id }) => id) } });

export const loadTask = async (server: TestServer, id: string): Promise<Task> =>
  (await server.call("GET", `/tasks/${id}`)).body;

export const listAttempts = async (server: TestServer, id: string): Promise<readonly TaskAttempt[]> =>
  (await server.call("GET", `/tasks/${id}/attempts`)).body.items;

/** What the agents of a task said with events of this type, in all tries at it. */
export async function listDataOf(
  server: TestServer,
  { id }: Task,
  type: string,
): Promise<readonly StoredEvent["event_data"][]> {
  const pages = (await listAttempts(server, id)).map(({ sandbox_id }) =>
    server.call("GET", `/sandboxes/${sandbox_id}/events?limit=500&event_type=${type}`),
  );
  return (await Promise.all(pages)).flatMap(({ body }) =>
    (body.events as readonly StoredEvent[]).map(({ event_data }) => event_data),
  );
}

export const loadSandbox = async (server: TestServer, id: string): Promise<Sandbox> =>
  (await server.call("GET", `/sandboxes/${id}`)).body;

export async function becomes(server: TestServer, { id }: { readonly id: string }, status: TaskStatus): Promise<void> {
  await expect.poll(async () => (await loadTask(server, id)).status, { timeout: FACT_MS, interval: 20 }).toBe(status);
}

export interface PlayedWorker {
  readonly sandboxId: string;
  readonly token: string;
  say(event_type: string, event_data?: Readonly<Record<string, unknown>>): Promise<Answer>;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
}

/** The worker of the sandbox that the task is given next, the `number`th in its life. */
export async function takeOver(server: TestServer, task: Task, number = 1): Promise<PlayedWorker> {
  await expect
    .poll(async () => (await listAttempts(server, task.id)).length, { timeout: FACT_MS, interval: 20 })
    .toBeGreaterThanOrEqual(number);
  const sandboxId = (await listAttempts(server, task.id))[number - 1]?.sandbox_id ?? "";
  const { body } = await server.call("POST", `/sandboxes/${sandboxId}/worker-token`);
  const token: string = body.worker_token;
  const post: PlayedWorker["post"] = (path, content, headers = {}) =>
    server.call("POST", `/sandboxes/${sandboxId}/${path}`, { token, body: content, headers });
  return {
    sandboxId,
    token,
    post,
    say: (event_type, event_data = {}) => post("events", { event_type, event_data }),
  };
}

/** Does a task as an agent would. */
export async function finish(server: TestServer, task: Task, output = "done", number = 1): Promise<PlayedWorker> {
  const worker = await takeOver(server, task, number);
  await worker.say("agent.started");
  await worker.say("agent.completed", { final_output: output });
  return worker;
}
