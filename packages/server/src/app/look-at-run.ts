/** A look at a run on demand: everything is folded and measured now, and the judge is asked if that is wanted. */
import { randomUUID } from "node:crypto";
import { readSignals } from "@drover/core";
import { AppError, type RunLook, type SandboxId } from "@drover/contract";
import { loadSupervision } from "../store/supervision.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { foldRun, toRunContext } from "./fold-run.ts";
import { judgeRun } from "./judge-run.ts";
import { locateSandbox } from "./locate.ts";
import { pageAnalyses } from "./read-monitor.ts";
import { readSupervision } from "./read-supervision.ts";
import { tellMonitoring } from "./tell-monitoring.ts";

export async function lookAtRun(
  deps: Deps,
  actor: Person,
  id: SandboxId,
  isForced: boolean,
  signal: AbortSignal,
): Promise<RunLook> {
  const row = await loadSupervision.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  const folded = await foldRun(deps, row);
  if (folded !== undefined && row.state === "running") {
    const signs = readSignals(folded.signals, await toRunContext(deps, row), deps.clock.now().getTime());
    await judgeRun(deps, row, { cursorSeq: folded.cursorSeq, hasSigns: signs.length > 0, isForced }, signal);
  }
  const { items } = await pageAnalyses(deps, actor, { sandbox_id: id, limit: 1 });
  return { ...(await readSupervision(deps, id)), analysis: items[0] ?? null };
}

/** All of them or none: one that cannot be seen does not exist. */
export async function lookAtRuns(deps: Deps, actor: Person, ids: readonly SandboxId[], signal: AbortSignal) {
  const mine = actor.grant.projectId;
  for (const id of ids) {
    const projectId = await locateSandbox(deps.db, id);
    if (projectId === undefined || (mine !== null && projectId !== mine)) throw new AppError("sandbox.not_found");
  }
  const items: RunLook[] = [];
  for (const id of new Set(ids)) items.push(await lookAtRun(deps, actor, id, true, signal));
  const steered = items.filter(({ analysis }) => analysis?.needs_steering === true);
  const told = { cycle_id: randomUUID(), active_agents: items.length, agents_need_steering: steered.length };
  await tellMonitoring(deps, "monitoring.system.updated", { ...told, agent_ids: [...new Set(ids)] }, mine);
  return { items, next_cursor: null };
}
