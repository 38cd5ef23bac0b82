/** Agents, seen from their sandboxes: nothing is kept about them that the sandboxes do not say. */
import {
  SandboxState,
  type Agent,
  type AgentStatus,
  type CreatedSandbox,
  type ProjectId,
  type Sandbox,
  type SandboxId,
} from "@drover/contract";
import type { RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { createSandbox, getSandbox, pageSandboxes } from "./manage-sandboxes.ts";

const PAGE = 100;
const CAPABILITIES = "capabilities";
const NAME = "agent_name";

const STATUS: Readonly<Record<Sandbox["state"], AgentStatus>> = {
  pending: "SPAWNING",
  creating: "SPAWNING",
  running: "RUNNING",
  paused: "IDLE",
  completing: "RUNNING",
  completed: "IDLE",
  failed: "FAILED",
  cancelled: "TERMINATED",
  terminated: "TERMINATED",
};

const toStatus = ({ state, health }: Sandbox): AgentStatus =>
  state === "running" && (health === "late" || health === "dead") ? "DEGRADED" : STATUS[state];

function toCapabilities(deps: Deps, { labels, provider }: Sandbox): string[] {
  const told = labels[CAPABILITIES] ?? (provider === "external" ? undefined : deps.config.agentCapabilities);
  return (told ?? "")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
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
  last_heartbeat: sandbox.last_heartbeat_at,
  created_at: sandbox.created_at,
});

const toStates = (status: AgentStatus | undefined): SandboxState[] | undefined =>
  status === undefined
    ? undefined
    : SandboxState.options.filter((state) => STATUS[state] === (status === "DEGRADED" ? "RUNNING" : status));

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
  const status = SandboxState.options.filter((state) => STATUS[state] !== "TERMINATED" && STATUS[state] !== "FAILED");
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

export async function readAgentHealth(deps: Deps, id: SandboxId) {
  const { agent_id, status, health_status, last_heartbeat } = await getAgent(deps, id);
  const since = last_heartbeat === null ? null : (deps.clock.now().getTime() - Date.parse(last_heartbeat)) / 1_000;
  return { agent_id, status, health_status, last_heartbeat, seconds_since_heartbeat: since };
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
    ...(body.capabilities.length === 0 ? {} : { [CAPABILITIES]: body.capabilities.join(",").slice(0, 255) }),
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
