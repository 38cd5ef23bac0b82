/** How all workers of an agent beat over the last hours: whether they were heard, fell silent, were started again, or failed. */
import { AppError, HEARTBEAT_STEP_SECONDS, type AgentHeartbeats, type AgentHeartbeatsQuery } from "@drover/contract";
import { countHeartbeats } from "../store/heartbeats.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { toFirstId } from "./measure.ts";

const HOUR_MS = 3_600_000;
const STEP_MS = HEARTBEAT_STEP_SECONDS * 1_000;
const MOST_SANDBOXES = 1_000;
/** An event gets its id before its number, one that is imported minutes before: from an id so much earlier on, no number is missed. */
const ID_AHEAD_MS = HOUR_MS;

export async function readHeartbeats(deps: Deps, actor: Person, query: AgentHeartbeatsQuery): Promise<AgentHeartbeats> {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine)
    throw new AppError("project.not_found");
  const now = deps.clock.now();
  // Steps begin at whole quarters of an hour, so that a cell stays what it was when somebody looks again.
  const toMs = (Math.floor(now.getTime() / STEP_MS) + 1) * STEP_MS;
  const fromMs = toMs - query.hours * HOUR_MS;
  const rows = await countHeartbeats(deps.db, {
    agentType: query.agent_type,
    projectId: query.project_id ?? mine,
    from: new Date(fromMs),
    steps: (query.hours * HOUR_MS) / STEP_MS,
    stepSeconds: HEARTBEAT_STEP_SECONDS,
    now,
    firstEventId: toFirstId(new Date(fromMs - ID_AHEAD_MS)),
    graceSeconds: deps.config.deadThresholdSeconds,
    most: MOST_SANDBOXES,
  });
  return {
    agent_type: query.agent_type,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    step_seconds: HEARTBEAT_STEP_SECONDS,
    sandboxes: rows[0]?.sandboxes ?? 0,
    steps: rows.map(({ step, sandboxes: _all, ...counts }) => ({
      at: new Date(fromMs + step * STEP_MS).toISOString(),
      ...counts,
    })),
  };
}
