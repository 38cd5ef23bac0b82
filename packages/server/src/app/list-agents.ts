/** Agents, seen from their sandboxes: nothing is kept about them that the sandboxes do not say. */
import { createHash } from "node:crypto";
import { AGENT_STATUS } from "@drover/core";
import {
  AppError,
  SandboxState,
  type Agent,
  type AgentBeat,
  type AgentHealth,
  type AgentMatch,
  type AgentStatus,
  type CreatedSandbox,
  type JsonObject,
  type ProjectId,
  type Sandbox,
  type SandboxId,
} from "@drover/contract";
import { mergeLabels } from "../store/sandboxes.ts";
import { stopByServer } from "./act-on-sandbox.ts";
import type { RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import { draftAgentEvent, writeWithEvents } from "./event-log.ts";
import type { WorkerIdentity } from "./ingest-events.ts";
import { createSandbox, getSandbox, pageSandboxes } from "./manage-sandboxes.ts";
import { beat } from "./serve-worker.ts";

const PAGE = 100;
const CAPABILITIES = "capabilities";
const NAME = "agent_name";
const AVAILABLE = "agent_available";

const toStatus = ({ state, health }: Sandbox): AgentStatus =>
  state === "running" && (health === "late" || health === "dead") ? "DEGRADED" : AGENT_STATUS[state];

const splitList = (text: string): string[] =>
  text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");

const joinCapabilities = (capabilities: readonly string[]): string => capabilities.join(",").slice(0, 255);

/** Who is free soonest. */
const READY: readonly AgentStatus[] = ["IDLE", "SPAWNING", "RUNNING", "DEGRADED"];

function toCapabilities(deps: Deps, { labels, provider }: Sandbox): string[] {
  const told = labels[CAPABILITIES] ?? (provider === "external" ? undefined : deps.config.agentCapabilities);
  return splitList(told ?? "");
}

const toAgent = (deps: Deps, sandbox: Sandbox): Agent => ({
  agent_id: sandbox.id,
  agent_name: sandbox.labels[NAME] ?? sandbox.id,
  agent_type: sandbox.runtime,
  status: toStatus(sandbox),
  health_status: sandbox.health,
  project_id: sandbox.project_id,
  task_id: sandbox.task_id,
  capabilities: toCapabilities(deps, sandbox),
  available: sandbox.labels[AVAILABLE] !== "false",
  last_heartbeat: sandbox.last_heartbeat_at,
  created_at: sandbox.created_at,
});

const toStates = (status: AgentStatus | undefined): SandboxState[] | undefined =>
  status === undefined
    ? undefined
    : SandboxState.options.filter((state) => AGENT_STATUS[state] === (status === "DEGRADED" ? "RUNNING" : status));

interface AgentQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly status?: AgentStatus | undefined;
  readonly project_id?: ProjectId | undefined;
  readonly capability?: string | undefined;
}

/** A page holds those of a page of sandboxes that fit. */
export async function pageAgents(deps: Deps, actor: Person, query: AgentQuery) {
  const { status, capability, ...paging } = query;
  const { items, next_cursor } = await pageSandboxes(deps, actor, { ...paging, status: toStates(status) });
  const agents = items
    .map((sandbox) => toAgent(deps, sandbox))
    .filter((agent) => status === undefined || agent.status === status)
    .filter((agent) => capability === undefined || agent.capabilities.includes(capability));
  return { items: agents, next_cursor };
}

/** All that are not over. */
async function listStanding(deps: Deps, actor: Person, projectId: ProjectId | undefined): Promise<readonly Agent[]> {
  const found: Agent[] = [];
  const status = SandboxState.options.filter(
    (state) => AGENT_STATUS[state] !== "TERMINATED" && AGENT_STATUS[state] !== "FAILED",
  );
  let cursor: string | undefined;
  do {
    const page = await pageSandboxes(deps, actor, {
      limit: PAGE,
      status,
      ...(cursor === undefined ? {} : { cursor }),
      ...(projectId === undefined ? {} : { project_id: projectId }),
    });
    found.push(...page.items.map((sandbox) => toAgent(deps, sandbox)));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

const count = (keys: readonly string[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(keys, (key) => key)].map(([key, some]) => [key, some.length]));

export async function readAgentStatistics(deps: Deps, actor: Person, projectId: ProjectId | undefined) {
  const agents = await listStanding(deps, actor, projectId);
  return {
    total_agents: agents.length,
    by_status: count(agents.map(({ status }) => status)),
    by_type: count(agents.map(({ agent_type }) => agent_type ?? "unknown")),
  };
}

export const listStaleAgents = async (deps: Deps, actor: Person, projectId: ProjectId | undefined) => ({
  items: (await listStanding(deps, actor, projectId)).filter(({ status }) => status === "DEGRADED"),
});

export const getAgent = async (deps: Deps, id: SandboxId): Promise<Agent> => toAgent(deps, await getSandbox(deps, id));

const toHealth = (deps: Deps, { agent_id, status, health_status, last_heartbeat }: Agent): AgentHealth => {
  const since = last_heartbeat === null ? null : (deps.clock.now().getTime() - Date.parse(last_heartbeat)) / 1_000;
  return { agent_id, status, health_status, last_heartbeat, seconds_since_heartbeat: since };
};

export const readAgentHealth = async (deps: Deps, id: SandboxId) => toHealth(deps, await getAgent(deps, id));

export const listAgentHealth = async (deps: Deps, actor: Person, projectId: ProjectId | undefined) => ({
  items: (await listStanding(deps, actor, projectId)).map((agent) => toHealth(deps, agent)),
});

interface Wanted {
  readonly capabilities: string;
  readonly project_id?: ProjectId | undefined;
}

/** Those that can do some of it, the best first; who waits for work before who works. Nothing asked for is what everybody can do. */
async function matchAgents(deps: Deps, actor: Person, { capabilities, project_id }: Wanted): Promise<AgentMatch[]> {
  const wanted = new Set(splitList(capabilities));
  const toScore = (agent: Agent) =>
    wanted.size === 0 ? 1 : agent.capabilities.filter((one) => wanted.has(one)).length / wanted.size;
  return (await listStanding(deps, actor, project_id))
    .map((agent) => ({ ...agent, match_score: toScore(agent) }))
    .filter(({ match_score }) => match_score > 0)
    .toSorted((a, b) => b.match_score - a.match_score || READY.indexOf(a.status) - READY.indexOf(b.status));
}

export const searchAgents = async (deps: Deps, actor: Person, query: Wanted & { readonly limit: number }) => ({
  items: (await matchAgents(deps, actor, query)).slice(0, query.limit),
  next_cursor: null,
});

export async function findBestAgent(deps: Deps, actor: Person, query: Wanted) {
  const [best] = (await matchAgents(deps, actor, query)).filter(
    ({ available, match_score, status }) => available && match_score === 1 && status !== "DEGRADED",
  );
  if (best === undefined) return { agent: null, match_score: 0 };
  const { match_score, ...agent } = best;
  return { agent, match_score };
}

export async function changeAgent(
  deps: Deps,
  id: SandboxId,
  change: {
    readonly agent_name?: string | undefined;
    readonly capabilities?: readonly string[] | undefined;
    readonly available?: boolean | undefined;
  },
): Promise<Agent> {
  const labels = {
    ...(change.agent_name === undefined ? {} : { [NAME]: change.agent_name }),
    ...(change.capabilities === undefined ? {} : { [CAPABILITIES]: joinCapabilities(change.capabilities) }),
    ...(change.available === undefined ? {} : { [AVAILABLE]: String(change.available) }),
  };
  await mergeLabels(deps.db, id, labels);
  return getAgent(deps, id);
}

/** The supervisor ends the dead by itself; this does not wait for it. */
export async function cleanUpStale(deps: Deps, actor: Person, projectId: ProjectId | undefined) {
  const dead = (await listStanding(deps, actor, projectId)).filter(({ health_status }) => health_status === "dead");
  const agent_ids: SandboxId[] = [];
  for (const { agent_id } of dead) {
    await stopByServer(deps, agent_id, "heartbeat_timeout");
    agent_ids.push(agent_id);
  }
  return { cleaned_count: agent_ids.length, agent_ids };
}

const sortKeys = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sortKeys)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, one]) => [key, sortKeys(one)]),
        )
      : value;

/** Who an agent is follows from its credential; a checksum that is given must fit. */
export async function beatAgent(deps: Deps, worker: WorkerIdentity, beatBody: AgentBeat) {
  const row = await loadForWorker(deps.db, worker);
  const { checksum, ...rest } = beatBody;
  if (rest.agent_id !== worker.sandboxId) throw new AppError("sandbox.not_found");
  const expected = createHash("sha256")
    .update(JSON.stringify(sortKeys(rest)))
    .digest("hex");
  if (checksum !== undefined && checksum !== expected)
    throw new AppError("request.invalid", "the checksum is not that of the rest");
  const { sequence_number, status, current_task_id, health_metrics } = rest;
  const detail = { sequence_number, current_task_id: current_task_id ?? null, health_metrics: health_metrics ?? null };
  const { timestamp } = await beat(deps, worker, { status, detail });
  const told = draftAgentEvent(deps.ids, row, {
    eventType: "HEARTBEAT_RECEIVED",
    data: { ...detail, status, timestamp },
  });
  await writeWithEvents(deps, (_tx, append) => append([told]));
  return { agent_id: rest.agent_id, sequence_number, timestamp, received: true as const, message: "alive" };
}

export async function postAgentEvent(
  deps: Deps,
  worker: WorkerIdentity,
  body: { readonly agent_id: SandboxId; readonly event_type: string; readonly event_data: JsonObject },
) {
  await loadForWorker(deps.db, worker);
  if (body.agent_id !== worker.sandboxId) throw new AppError("sandbox.not_found");
  const { event_type, event_data } = body;
  const { event_id, seq } = await deps.ingest.one(worker, { event_type, event_data, source: "agent" });
  return { success: true as const, logged: true as const, event_id, seq };
}

export async function registerAgent(
  deps: Deps,
  actor: Person,
  body: {
    readonly agent_name: string;
    readonly agent_type?: string | undefined;
    readonly capabilities: readonly string[];
    readonly project_id?: ProjectId | undefined;
  },
  key: RequestKey | undefined,
) {
  const labels = {
    [NAME]: body.agent_name,
    ...(body.capabilities.length === 0 ? {} : { [CAPABILITIES]: joinCapabilities(body.capabilities) }),
  };
  const created: CreatedSandbox = await createSandbox(
    deps,
    actor,
    {
      provider: "external",
      labels,
      ...(body.agent_type === undefined ? {} : { runtime: body.agent_type }),
      ...(body.project_id === undefined ? {} : { project_id: body.project_id }),
    },
    key,
  );
  const { worker_token, worker_env } = created;
  return {
    ...toAgent(deps, created),
    ...(worker_token === undefined ? {} : { worker_token }),
    ...(worker_env === undefined ? {} : { worker_env }),
  };
}
