/** Every endpoint there is, and a request to it that would be accepted. */
import { api, type Endpoint, type EndpointName } from "@drover/contract";
import type { Answer, CallOptions } from "../http-call.ts";
import type { TestSandbox, TestServer } from "../server.ts";
import { BODIES } from "./bodies.ts";
import { ARTIFACT, NOBODY, REQUEST, type World } from "./world.ts";

export interface Case {
  readonly name: EndpointName;
  readonly endpoint: Endpoint;
}

export const ALL: readonly Case[] = (Object.entries(api) as [EndpointName, Endpoint][]).map(([name, endpoint]) => ({
  name,
  endpoint,
}));
export const CLOSED = ALL.filter(({ endpoint }) => endpoint.access !== "open");
export const PERSONS = ALL.filter(({ endpoint }) => endpoint.access === "person");
export const WORKERS = ALL.filter(({ endpoint }) => endpoint.access === "worker");
export const IN_SANDBOX = ALL.filter(({ endpoint }) => endpoint.path.includes(":sandbox_id"));
export const WITH_BODY = ALL.filter(({ endpoint }) => endpoint.body !== undefined);
export const WITH_QUERY = ALL.filter(({ endpoint }) => endpoint.query !== undefined);

export function toPath(endpoint: Endpoint, world: World, sandbox: TestSandbox): string {
  return endpoint.path
    .replace(":sandbox_id", sandbox.id)
    .replace(":project_id", world.projectId)
    .replace(":token_id", world.tokenId)
    .replace(":ticket_id", world.ticketId)
    .replace(":task_id", world.taskId)
    .replace(":dependency_id", NOBODY)
    .replace(":blocker_id", NOBODY)
    .replace(":message_id", world.messageId)
    .replace(":request_id", REQUEST)
    .replace(":pull_id", world.pullId)
    .replace(":artifact_id", ARTIFACT)
    .replace(":archive_id", ARTIFACT)
    .replace(":event_id", world.eventId)
    .replace(":budget_id", world.budgetId)
    .replace(":webhook_id", world.webhookId)
    .replace(":delivery_id", world.deliveryId)
    .replace(":share_id", "shr-000000000000")
    .replace(":action_id", "act-000000000000")
    .replace(":anomaly_id", "ano-000000000000")
    .replace(":analysis_id", "ana-000000000000")
    .replace(":alert_id", "alr-000000000000")
    .replace(":rule_id", "rule-000000000001")
    .replace(":run_id", "dia-000000000000")
    .replace(":model", "a-model")
    .replace(":protocol", "gemini");
}

/** A request that would be accepted, with something changed. */
export async function ask(
  server: TestServer,
  world: World,
  { name, endpoint }: Case,
  change: CallOptions & { readonly query?: string; readonly path?: string; readonly sandbox?: TestSandbox } = {},
): Promise<Answer> {
  const token = endpoint.access === "worker" ? world.mine.token : undefined;
  const body = BODIES[name];
  const bytes = name === "putArtifact" ? { raw: "kept" } : {};
  const path = change.path ?? toPath(endpoint, world, change.sandbox ?? world.mine);
  return server.call(endpoint.method, path + (change.query ?? ""), {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined || change.raw !== undefined ? {} : { body }),
    ...bytes,
    ...change,
  });
}
