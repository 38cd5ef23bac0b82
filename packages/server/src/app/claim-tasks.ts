/** Takes ready tasks, best first, within all limits, whoever else takes some at this moment. */
import { mayOverlap, orderByScore, pickTasks, toScoreWeights } from "@drover/core";
import type { TaskId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import {
  claimTasks,
  claimValidations,
  listCandidates,
  listHolders,
  listRoom,
  lockClaims,
  type CandidateRow,
} from "../store/task-queue.ts";
import type { Deps } from "./deps.ts";

/** How many of each lane are looked at first: more than are claimed at once, because files may rule some out. */
const PER_LANE = 24;
/** How much further is looked where all of those were ruled out. */
const WIDER = 8;

type ClaimDeps = Pick<Deps, "db" | "config" | "clock" | "instance">;

const toCapabilities = (config: Deps["config"]): readonly string[] | null =>
  config.agentCapabilities === undefined ? null : config.agentCapabilities.split(",").map((one) => one.trim());

async function findBest(tx: Db, deps: ClaimDeps, limit: number): Promise<readonly CandidateRow[]> {
  const rooms = await listRoom(tx, deps.config.maxConcurrentTasksPerProject);
  const active = rooms.reduce((sum, one) => sum + one.active, 0);
  const overall = Math.min(limit, deps.config.maxConcurrentTasks - active);
  const byProject = new Map<string, number>(
    rooms.filter(({ room }) => room > 0).map((one) => [one.project_id, one.room]),
  );
  if (overall <= 0 || byProject.size === 0) return [];
  for (let perLane = PER_LANE; ; perLane *= WIDER) {
    const found = await listCandidates(tx, [...byProject.keys()], toCapabilities(deps.config), perLane);
    const candidates = [...new Map(found.map((one) => [one.id, one])).values()];
    const tickets = [...new Set(candidates.filter((one) => one.owned_files.length > 0).map((one) => one.ticket_id))];
    const holders = tickets.length === 0 ? [] : await listHolders(tx, tickets);
    const ordered = orderByScore(candidates, toScoreWeights(deps.config), deps.clock.now());
    const picked = pickTasks(ordered, holders, { overall, byProject }, mayOverlap);
    if (picked.length >= overall || !hasMore(found, picked, byProject, perLane)) return picked;
  }
}

/** Whether a project that has room left also has a lane of which not all was looked at. */
function hasMore(
  found: readonly CandidateRow[],
  picked: readonly CandidateRow[],
  rooms: ReadonlyMap<string, number>,
  perLane: number,
): boolean {
  const taken = Map.groupBy(picked, (one) => one.project_id);
  const lanes = Map.groupBy(found, (one) => `${one.project_id} ${one.lane}`).values();
  return [...lanes].some(
    (some) =>
      some.length >= perLane && some.some(({ project_id: id }) => (taken.get(id)?.length ?? 0) < (rooms.get(id) ?? 0)),
  );
}

/** Claims under one lock, so that limits hold over all processes; the rows themselves are taken with `skip locked`. */
export async function claimReady(deps: ClaimDeps, limit: number): Promise<readonly TaskId[]> {
  return deps.db.tx(async (tx) => {
    await lockClaims(tx);
    const best = await findBest(tx, deps, limit);
    if (best.length === 0) return [];
    const claimed = await claimTasks(
      tx,
      best.map(({ id }) => id),
      deps.instance,
    );
    // In the order of their scores, which an update does not keep.
    const taken = new Set(claimed.map(({ id }) => id));
    return best.map(({ id }) => id).filter((id) => taken.has(id));
  });
}

/** Those that wait for a validator, the oldest first. They are over their limits only for as long as a look takes. */
export async function claimForValidation(deps: ClaimDeps, limit: number): Promise<readonly TaskId[]> {
  return (await claimValidations(deps.db, deps.instance, limit)).map(({ id }) => id);
}

/** What would be claimed next, without claiming it. */
export async function listReadyTasks(
  deps: ClaimDeps,
  projectIds: readonly string[],
  limit: number,
): Promise<readonly TaskId[]> {
  const found = await listCandidates(deps.db, projectIds, toCapabilities(deps.config), limit);
  const candidates = [...new Map(found.map((one) => [one.id, one])).values()];
  return orderByScore(candidates, toScoreWeights(deps.config), deps.clock.now())
    .slice(0, limit)
    .map(({ id }) => id);
}
