/** One of everything that a path can name: of one's own, of others, ended, and with every credential that is refused somewhere. */
import { createHash } from "node:crypto";
import type { ProjectId, PullRequestId } from "@drover/contract";
import { insertProjectGit } from "../../../server/src/store/git.ts";
import { insertPull } from "../../../server/src/store/pull-requests.ts";
import type { TestSandbox, TestServer } from "../server.ts";

export const ARTIFACT = createHash("sha256").update("kept").digest("hex");

export const REQUEST = "a-request";

/** Has the shape of a task's and a ticket's id. */
export const NOBODY = "00000000-0000-4000-8000-000000000000";

export interface World {
  readonly projectId: string;
  readonly mine: TestSandbox;
  readonly foreign: TestSandbox;
  /** Its worker was replaced, and `token` is that of the first one. */
  readonly fenced: TestSandbox;
  readonly ended: TestSandbox;
  readonly messageId: string;
  readonly tokenId: string;
  readonly eventId: string;
  readonly ticketId: string;
  readonly taskId: string;
  readonly budgetId: string;
  readonly webhookId: string;
  readonly deliveryId: string;
  readonly pullId: string;
  readonly tokens: Readonly<Record<"viewer" | "operator" | "admin" | "stranger" | "revoked" | "expired", string>>;
}

async function insertSamplePull(server: TestServer, project_id: ProjectId): Promise<string> {
  const id = "pr-000000000001" as PullRequestId;
  // Made now, and not when somebody looks after the pull request.
  await server.call("GET", `/projects/${project_id}/git`);
  const text = { ticket_id: null, title: "x", body: "", head_branch: "x", base_branch: "main" };
  // It is looked after in the background, which would make the row.
  await insertProjectGit(server.db, project_id);
  await insertPull(server.db, { id, project_id, number: 1, ...text, url: null, head_commit: null });
  return id;
}

export async function buildWorld(server: TestServer): Promise<World> {
  const projectId = await server.createProject();
  const mine = await server.createSandbox({ project_id: projectId });
  const foreign = await server.createSandbox({ project_id: await server.createProject() });
  const fenced = await server.createSandbox({ project_id: projectId });
  const ended = await server.createSandbox({ project_id: projectId });
  // Made when somebody first looks, and passes of the server look too.
  await server.call("GET", `/projects/${projectId}/git`);
  const { body: sent } = await server.call("POST", `/sandboxes/${mine.id}/messages`, { body: { content: "go on" } });
  await server.call("POST", `/sandboxes/${fenced.id}/messages`, { body: { content: "go on" } });
  const { body: stored } = await mine.post({ event_type: "agent.file_edited", event_data: { full_diff: "x" } });
  for (const one of [mine, foreign, fenced])
    await one.post({ event_type: "agent.permission_requested", event_data: { request_id: REQUEST, tool: "Bash" } });
  for (const { id, token } of [mine, fenced]) {
    await server.call("PUT", `/sandboxes/${id}/artifacts/${ARTIFACT}`, { token, raw: "kept" });
  }
  await server.call("POST", `/sandboxes/${fenced.id}/worker-token`);
  await server.call("DELETE", `/sandboxes/${ended.id}`);
  const revoked = await server.createToken("admin");
  await server.call("DELETE", `/tokens/${revoked.id}`);
  const expired = await server.call("POST", "/tokens", {
    body: { name: "old", role: "admin", expires_at: "2020-01-01T00:00:00Z" },
  });
  const { body: budget } = await server.call("POST", "/budgets", {
    body: { scope_type: "project", scope_id: projectId, limit_amount: 1 },
  });
  // Switched off, so that nothing about it changes by itself.
  const { body: hook } = await server.call("POST", "/webhooks", {
    body: { url: "https://receiver.example/hook", project_id: projectId, is_enabled: false },
  });
  const { body: delivery } = await server.call("POST", `/webhooks/${hook.id}/ping`);
  const viewer = await server.createToken("viewer", projectId);
  const ticket = await server.call("POST", "/tickets", { body: { title: "kept", project_id: projectId } });
  const task = await server.call("POST", "/tasks", { body: { title: "kept", ticket_id: ticket.body.id } });
  return {
    projectId,
    mine,
    foreign,
    fenced,
    ended,
    messageId: sent.message_id,
    tokenId: viewer.id,
    eventId: stored.event_id,
    ticketId: ticket.body.id,
    taskId: task.body.id,
    budgetId: budget.id,
    webhookId: hook.id,
    deliveryId: delivery.id,
    pullId: await insertSamplePull(server, projectId),
    tokens: {
      viewer: viewer.token,
      operator: (await server.createToken("operator", projectId)).token,
      admin: (await server.createToken("admin", projectId)).token,
      stranger: (await server.createToken("admin", await server.createProject())).token,
      revoked: revoked.token,
      expired: expired.body.token,
    },
  };
}
