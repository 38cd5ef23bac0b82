/** Agents that are installed on demand. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { AgentPackage, AgentPackageName } from "../resources/agent-package.ts";

const packageRef = z.object({ name: AgentPackageName });

export const agentPackageEndpoints = {
  listAgentPackages: endpoint({
    method: "GET",
    path: "/agents/packages",
    access: "person",
    verb: "read",
    summary: "Agents that can be installed, and how far each is.",
    reply: z.object({ items: z.array(AgentPackage) }),
  }),
  installAgentPackage: endpoint({
    method: "POST",
    path: "/agents/packages/:name/install",
    access: "person",
    verb: "administer",
    summary: "Begin to install an agent, or join what is under way; ask the list for its progress.",
    params: packageRef,
    reply: AgentPackage,
    status: 202,
  }),
  removeAgentPackage: endpoint({
    method: "DELETE",
    path: "/agents/packages/:name",
    access: "person",
    verb: "administer",
    summary: "Remove every version of an agent.",
    params: packageRef,
    reply: AgentPackage,
  }),
} as const;
