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
  type RoomRow,
} from "../store/task-queue.ts";
import type { Deps } from "./deps.ts";

/** How many of each lane are looked at first: more than are claimed at once, because files may rule some out. */
const PER_LANE = 24;
/** How much further is looked where all of those were ruled out. */
const WIDER = 8;

const TRIES = 3;

type ClaimDeps = Pick<Deps, "db" | "config" | "clock" | "instance">;

const toCapabilities = (config: Deps["config"]): readonly string[] | null =>
  config.agentCapabilities === undefined ? null : config.agentCapabilities.split(",").map((one) => one.trim());

async function findBest(
  tx: Db,
  deps: ClaimDeps,
  limit: number,
  rooms: readonly RoomRow[],
): Promise<readonly CandidateRow[]> {
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

/** Looks, and takes what it found if nobody claimed meanwhile; undefined if somebody did. */
async function claimBest(db: Db, deps: ClaimDeps, limit: number): Promise<readonly TaskId[] | undefined> {
  const rooms = await listRoom(db, deps.config.maxConcurrentTasksPerProject);
  const best = await findBest(db, deps, limit, rooms);
  const [first] = rooms;
  if (best.length === 0 || first === undefined) return [];
  const ids = best.map(({ id }) => id);
  const claimed = await claimTasks(db, ids, deps.instance, first.turn);
  if (claimed.length === 0) return undefined;
  // In the order of their scores, which an update does not keep.
  const taken = new Set(claimed.map(({ id }) => id));
  return ids.filter((id) => taken.has(id));
}

/** Claims take turns, so that limits hold over all processes; the rows themselves are taken with `skip locked`. Nobody waits for a
 *  turn, except whoever was overtaken a few times. */
export async function claimReady(deps: ClaimDeps, limit: number): Promise<readonly TaskId[]> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const claimed = await claimBest(deps.db, deps, limit);
    if (claimed !== undefined) return claimed;
  }
  return deps.db.tx(async (tx) => {
    await lockClaims(tx);
    return (await claimBest(tx, deps, limit)) ?? [];
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
