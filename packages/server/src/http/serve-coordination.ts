/** Which use case answers which endpoint of coordination, phases and agents. */
import type { agentEndpoints, coordinationEndpoints } from "@drover/contract";
import { checkPhase, detectBlocking, spawnPhaseTasks } from "../app/check-phase.ts";
import {
  beatAgent,
  changeAgent,
  cleanUpStale,
  findBestAgent,
  getAgent,
  listAgentHealth,
  listStaleAgents,
  pageAgents,
  postAgentEvent,
  readAgentHealth,
  readAgentStatistics,
  registerAgent,
  searchAgents,
} from "../app/list-agents.ts";
import { readHeartbeats } from "../app/read-heartbeats.ts";
import { generateTitle, generateTitles } from "../app/name-tasks.ts";
import { readTrajectory } from "../app/read-events.ts";
import { createSync, getSync, splitTask } from "../app/sync-tasks.ts";
import { person, worker, type Handlers } from "./context.ts";

type CoordinationName = keyof typeof coordinationEndpoints | keyof typeof agentEndpoints;

export const coordinationHandlers: Pick<Handlers, CoordinationName> = {
  splitTask: (context, { params, body }) =>
    splitTask(context.deps, person(context), params.task_id, body, context.requestKey),
  generateTitle: (context, { params, body }) =>
    generateTitle(context.deps, person(context), params.task_id, body.context, context.signal),
  generateTitles: (context, { body }) => generateTitles(context.deps, person(context), body.limit, context.signal),
  createSync: (context, { body }) => createSync(context.deps, person(context), body, context.requestKey),
  getSync: (context, { params }) => getSync(context.deps, person(context), params.sync_id),
  detectBlocking: (context, { params }) => detectBlocking(context.deps, params.ticket_id),
  checkPhaseCompletion: (context, { params, body }) => checkPhase(context.deps, params.ticket_id, body.phase_id),
  spawnPhaseTasks: (context, { params, body }) =>
    spawnPhaseTasks(context.deps, person(context), params.ticket_id, body.phase_id, context.requestKey),

  listAgents: (context, { query }) => pageAgents(context.deps, person(context), query),
  registerAgent: (context, { body }) => registerAgent(context.deps, person(context), body, context.requestKey),
  getAgentStatistics: (context, { query }) => readAgentStatistics(context.deps, person(context), query.project_id),
  listStaleAgents: (context, { query }) => listStaleAgents(context.deps, person(context), query.project_id),
  searchAgents: (context, { query }) => searchAgents(context.deps, person(context), query),
  findBestAgent: (context, { query }) => findBestAgent(context.deps, person(context), query),
  listAgentHealth: (context, { query }) => listAgentHealth(context.deps, person(context), query.project_id),
  getAgentHeartbeats: (context, { query }) => readHeartbeats(context.deps, person(context), query),
  cleanUpStaleAgents: (context, { body }) => cleanUpStale(context.deps, person(context), body.project_id),
  updateAgent: (context, { params, body }) => changeAgent(context.deps, params.sandbox_id, body),
  setAgentAvailability: (context, { params, body }) => changeAgent(context.deps, params.sandbox_id, body),
  beatAgent: async (context, { body }) => {
    const from = worker(context);
    await context.limits.takeEvents(from.sandboxId, 1);
    return beatAgent(context.deps, from, body);
  },
  postAgentEvent: async (context, { body }) => {
    const from = worker(context);
    await context.limits.takeEvents(from.sandboxId, 1);
    return postAgentEvent(context.deps, from, body);
  },
  getAgent: (context, { params }) => getAgent(context.deps, params.sandbox_id),
  getAgentTrajectory: (context, { params, query }) => readTrajectory(context.deps, params.sandbox_id, query),
  getAgentHealth: (context, { params }) => readAgentHealth(context.deps, params.sandbox_id),
};
