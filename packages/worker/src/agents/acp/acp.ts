/** Agents that speak the Agent Client Protocol, each as a runtime of its own name. */
import { join } from "node:path";
import type { AgentRuntime, WorkOrder } from "../../agent-runtime.ts";
import { holdConversation } from "../hold-conversation.ts";
import { ACP_AGENTS, type AcpAgent } from "./acp-agents.ts";
import { connectAcp } from "./connect-acp.ts";

export const createAcp = (agent: AcpAgent): AgentRuntime => ({
  name: agent.name,
  capabilities: agent.capabilities,
  ...(agent.memory === undefined
    ? {}
    : { transcriptPath: ({ home }: Pick<WorkOrder, "home">) => join(home, agent.memory ?? "") }),
  start: (order, signal) => holdConversation(order, connectAcp(agent), signal),
});

export const ACP_RUNTIMES: Readonly<Record<string, AgentRuntime>> = Object.fromEntries(
  ACP_AGENTS.map((agent) => [agent.name, createAcp(agent)]),
);
