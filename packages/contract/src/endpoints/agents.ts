/** Agents: what works in sandboxes. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProjectId, SandboxId } from "../ids.ts";
import { EventType } from "../events/event.ts";
import { JsonObject } from "../json.ts";
import { AgentHeartbeats, AgentHeartbeatsQuery } from "../resources/agent-heartbeats.ts";
import { Agent, AgentBeat, AgentHealth, AgentMatch, AgentStatus } from "../resources/coordination.ts";
import { Trajectory, TrajectoryQuery } from "../resources/log.ts";
import { WorkerEnv } from "../resources/sandbox.ts";
import { page, Paging } from "./page.ts";

const agentRef = z.object({ sandbox_id: SandboxId });
const Named = z.string().min(1).max(100);
const Wanted = {
  /** What it must be able to do, with commas between. */
  capabilities: z.string().max(2_000).default(""),
  project_id: ProjectId.optional(),
};

export const agentEndpoints = {
  listAgents: endpoint({
    method: "GET",
    path: "/agents",
    access: "person",
    verb: "read",
    summary: "Agents, newest first.",
    query: z.strictObject({
      ...Paging,
      status: AgentStatus.optional(),
      project_id: ProjectId.optional(),
      /** Only those that can do it. */
      capability: Named.optional(),
    }),
    reply: page(Agent),
  }),
  registerAgent: endpoint({
    method: "POST",
    path: "/agents/register",
    access: "person",
    verb: "operate",
    summary: "Let a program of one's own be an agent: a sandbox of provider external, whose token is told once.",
    body: z.strictObject({
      agent_name: Named,
      agent_type: z
        .string()
        .regex(/^[a-z][a-z0-9-]{0,63}$/)
        .optional(),
      capabilities: z.array(Named).max(50).default([]),
      project_id: ProjectId.optional(),
    }),
    reply: Agent.extend({ worker_token: z.string().optional(), worker_env: WorkerEnv.optional() }),
    status: 201,
    creates: true,
  }),
  searchAgents: endpoint({
    method: "GET",
    path: "/agents/search",
    access: "person",
    verb: "read",
    summary: "Agents that can do some of what is asked for, those that can do most of it first.",
    query: z.strictObject({ ...Wanted, limit: z.coerce.number().int().min(1).max(100).default(10) }),
    reply: z.object({ items: z.array(AgentMatch), next_cursor: z.null() }),
  }),
  findBestAgent: endpoint({
    method: "GET",
    path: "/agents/best-fit",
    access: "person",
    verb: "read",
    summary: "The agent that can do all of what is asked for and is free soonest; none is null.",
    query: z.strictObject(Wanted),
    reply: z.object({ agent: Agent.nullable(), match_score: z.number().min(0).max(1) }),
  }),
  listAgentHealth: endpoint({
    method: "GET",
    path: "/agents/health",
    access: "person",
    verb: "read",
    summary: "Whether agents are heard of, all that are not over.",
    query: z.strictObject({ project_id: ProjectId.optional() }),
    reply: z.object({ items: z.array(AgentHealth) }),
  }),
  getAgentHeartbeats: endpoint({
    method: "GET",
    path: "/agents/heartbeats",
    access: "person",
    verb: "read",
    summary: "How all workers of an agent beat over the last hours, in steps of a quarter of an hour.",
    query: AgentHeartbeatsQuery,
    reply: AgentHeartbeats,
  }),
  cleanUpStaleAgents: endpoint({
    method: "POST",
    path: "/agents/cleanup-stale",
    access: "person",
    verb: "operate",
    summary: "End agents that count as dead; the supervisor does the same by itself.",
    body: z.strictObject({ project_id: ProjectId.optional() }).default({}),
    reply: z.object({ cleaned_count: z.int().nonnegative(), agent_ids: z.array(SandboxId) }),
  }),
  updateAgent: endpoint({
    method: "PATCH",
    path: "/agents/:sandbox_id",
    access: "person",
    verb: "operate",
    summary: "Change an agent's name or what it can do.",
    params: agentRef,
    body: z.strictObject({ agent_name: Named.optional(), capabilities: z.array(Named).max(50).optional() }),
    reply: Agent,
  }),
  setAgentAvailability: endpoint({
    method: "POST",
    path: "/agents/:sandbox_id/availability",
    access: "person",
    verb: "operate",
    summary: "Say whether an agent may be given more; one that is not available is no best fit.",
    params: agentRef,
    body: z.strictObject({ available: z.boolean() }),
    reply: Agent,
  }),
  beatAgent: endpoint({
    method: "POST",
    path: "/agents/:sandbox_id/heartbeat",
    access: "worker",
    summary: "The agent is alive.",
    params: agentRef,
    body: AgentBeat,
    reply: z.object({
      agent_id: SandboxId,
      sequence_number: z.int().nonnegative(),
      timestamp: z.string(),
      received: z.literal(true),
      message: z.string(),
    }),
  }),
  postAgentEvent: endpoint({
    method: "POST",
    path: "/agent-events",
    access: "worker",
    summary: "An event of the agent, as older programs send it; it becomes one of its sandbox.",
    body: z.strictObject({
      task_id: z.string().max(100).nullish(),
      agent_id: SandboxId,
      event_type: EventType,
      event_data: JsonObject.default({}),
    }),
    reply: z.object({
      success: z.literal(true),
      logged: z.literal(true),
      event_id: z.string(),
      seq: z.int().positive(),
    }),
  }),
  getAgentStatistics: endpoint({
    method: "GET",
    path: "/agents/statistics",
    access: "person",
    verb: "read",
    summary: "How many agents there are, by status and by type.",
    query: z.strictObject({ project_id: ProjectId.optional() }),
    reply: z.object({
      total_agents: z.int(),
      by_status: z.record(z.string(), z.int()),
      by_type: z.record(z.string(), z.int()),
    }),
  }),
  listStaleAgents: endpoint({
    method: "GET",
    path: "/agents/stale",
    access: "person",
    verb: "read",
    summary: "Agents that should be heard of and are not.",
    query: z.strictObject({ project_id: ProjectId.optional() }),
    reply: z.object({ items: z.array(Agent) }),
  }),
  getAgent: endpoint({
    method: "GET",
    path: "/agents/:sandbox_id",
    access: "person",
    verb: "read",
    summary: "One agent.",
    params: agentRef,
    reply: Agent,
  }),
  getAgentTrajectory: endpoint({
    method: "GET",
    path: "/agents/:sandbox_id/trajectory",
    access: "person",
    verb: "read",
    summary: "What an agent did; another name of its sandbox's trajectory.",
    params: agentRef,
    query: TrajectoryQuery,
    reply: Trajectory,
  }),
  getAgentHealth: endpoint({
    method: "GET",
    path: "/agents/:sandbox_id/health",
    access: "person",
    verb: "read",
    summary: "Whether an agent is heard of.",
    params: agentRef,
    reply: AgentHealth,
  }),
} as const;
