/** Every HTTP endpoint of the product, below the API's base path; the nouns are in `endpoints/`. */
import { alertEndpoints } from "./endpoints/alerts.ts";
import { archiveEndpoints } from "./endpoints/archives.ts";
import { diagnosticEndpoints } from "./endpoints/diagnostic.ts";
import { agentPackageEndpoints } from "./endpoints/agent-packages.ts";
import { costEndpoints } from "./endpoints/costs.ts";
import { credentialEndpoints } from "./endpoints/credentials.ts";
import { eventEndpoints } from "./endpoints/events.ts";
import { guardianActionEndpoints } from "./endpoints/guardian-actions.ts";
import { agentEndpoints } from "./endpoints/agents.ts";
import { coordinationEndpoints } from "./endpoints/coordination.ts";
import { guardianEndpoints } from "./endpoints/guardian.ts";
import { gitEndpoints } from "./endpoints/git.ts";
import { insideEndpoints } from "./endpoints/inside.ts";
import { monitorEndpoints } from "./endpoints/monitor.ts";
import { messageEndpoints } from "./endpoints/messages.ts";
import { permissionEndpoints } from "./endpoints/permissions.ts";
import { projectEndpoints } from "./endpoints/projects.ts";
import { replayEndpoints } from "./endpoints/replay.ts";
import { providerEndpoints } from "./endpoints/providers.ts";
import { repositoryEndpoints } from "./endpoints/repositories.ts";
import { sandboxEndpoints } from "./endpoints/sandboxes.ts";
import { graphEndpoints } from "./endpoints/graph.ts";
import { taskEndpoints } from "./endpoints/tasks.ts";
import { ticketEndpoints } from "./endpoints/tickets.ts";
import { ticketRecordEndpoints } from "./endpoints/ticket-records.ts";
import { webhookEndpoints } from "./endpoints/webhooks.ts";
import { workReportEndpoints } from "./endpoints/work-reports.ts";
import { workerEndpoints } from "./endpoints/worker.ts";

export const api = {
  ...credentialEndpoints,
  ...projectEndpoints,
  ...providerEndpoints,
  ...sandboxEndpoints,
  ...insideEndpoints,
  ...replayEndpoints,
  ...gitEndpoints,
  ...repositoryEndpoints,
  ...eventEndpoints,
  ...messageEndpoints,
  ...permissionEndpoints,
  ...workerEndpoints,
  ...guardianEndpoints,
  ...guardianActionEndpoints,
  ...monitorEndpoints,
  ...alertEndpoints,
  ...diagnosticEndpoints,
  ...agentPackageEndpoints,
  ...ticketEndpoints,
  ...ticketRecordEndpoints,
  ...taskEndpoints,
  ...graphEndpoints,
  ...coordinationEndpoints,
  ...agentEndpoints,
  ...workReportEndpoints,
  ...costEndpoints,
  ...webhookEndpoints,
  ...archiveEndpoints,
} as const;

export type Api = typeof api;
export type EndpointName = keyof Api;
