/** Agents: what works in sandboxes. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProjectId, SandboxId } from "../ids.ts";
import { Agent, AgentStatus } from "../resources/coordination.ts";
import { WorkerEnv } from "../resources/sandbox.ts";
import { page, Paging } from "./page.ts";

const agentRef = z.object({ sandbox_id: SandboxId });
const Named = z.string().min(1).max(100);

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
  getAgentHealth: endpoint({
    method: "GET",
    path: "/agents/:sandbox_id/health",
    access: "person",
    verb: "read",
    summary: "Whether an agent is heard of.",
    params: agentRef,
    reply: z.object({
      agent_id: SandboxId,
      status: AgentStatus,
      health_status: z.string(),
      last_heartbeat: z.string().nullable(),
      seconds_since_heartbeat: z.number().nullable(),
    }),
  }),
} as const;
