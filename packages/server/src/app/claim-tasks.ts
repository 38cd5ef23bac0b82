/** Takes ready tasks, best first, within all limits, whoever else takes some at this moment. */
import { mayOverlap, orderByScore, pickTasks, toScoreWeights, type Room } from "@drover/core";
import type { TaskId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import {
  claimTasks,
  claimValidations,
  listCandidates,
  listHolders,
  lockClaims,
  lookAtQueue,
  type CandidateRow,
  type LookRow,
} from "../store/task-queue.ts";
import type { Deps } from "./deps.ts";

/** How many of each lane are looked at beyond those that are claimed at once, because files may rule some out. */
const SPARE = 7;
/** How much further is looked where so many were ruled out that the next one of a lane might have its turn. */
const WIDER = 8;

const TRIES = 3;

type ClaimDeps = Pick<Deps, "db" | "config" | "clock" | "instance">;

const toCapabilities = (config: Deps["config"]): readonly string[] | null =>
  config.agentCapabilities === undefined ? null : config.agentCapabilities.split(",").map((one) => one.trim());

interface Best {
  readonly tasks: readonly CandidateRow[];
  /** After which claim they were looked at. */
  readonly turn: number;
}

const isTask = (row: LookRow): row is LookRow & { readonly id: TaskId } => row.id !== null;

async function findBest(db: Db, deps: ClaimDeps, limit: number): Promise<Best | undefined> {
  const { config } = deps;
  for (let perLane = limit + SPARE; ; perLane *= WIDER) {
    const rows = await lookAtQueue(db, config.maxConcurrentTasksPerProject, toCapabilities(config), perLane);
    const rooms = new Map(rows.map((row) => [row.project_id, row]));
    const active = [...rooms.values()].reduce((sum, one) => sum + one.active, 0);
    const room = {
      overall: Math.min(limit, config.maxConcurrentTasks - active),
      byProject: new Map<string, number>([...rooms.values()].map((one) => [one.project_id, one.room])),
    };
    const found = rows.filter(isTask);
    const [first] = rows;
    if (room.overall <= 0 || found.length === 0 || first === undefined) return undefined;
    const candidates = [...new Map(found.map((one) => [one.id, one])).values()];
    const tickets = [...new Set(candidates.filter((one) => one.owned_files.length > 0).map((one) => one.ticket_id))];
    const holders = tickets.length === 0 ? [] : await listHolders(db, tickets);
    const ordered = orderByScore(candidates, toScoreWeights(config), deps.clock.now());
    const tasks = pickTasks(ordered, holders, room, mayOverlap);
    const lists = [...Map.groupBy(found, (one) => `${one.project_id} ${one.list}`).values()];
    const cut = lists.filter((list) => list.length >= perLane);
    if (!cut.some((list) => mayMiss(list, ordered, tasks, room))) return { tasks, turn: first.turn };
  }
}

/** Whether there was still room when the last one that was looked at in a list had its turn, so that the one behind it might have had it. */
function mayMiss(
  list: readonly CandidateRow[],
  ordered: readonly CandidateRow[],
  picked: readonly CandidateRow[],
  room: Room,
): boolean {
  const ids = new Set(list.map(({ id }) => id));
  const before = new Set(ordered.slice(0, 1 + ordered.findLastIndex(({ id }) => ids.has(id))));
  const taken = picked.filter((one) => before.has(one));
  const project = list[0]?.project_id ?? "";
  const own = taken.filter((one) => one.project_id === project);
  return taken.length < room.overall && own.length < (room.byProject.get(project) ?? 0);
}

/** Looks, and takes what it found if nobody claimed meanwhile; undefined if somebody did. */
async function claimBest(db: Db, deps: ClaimDeps, limit: number): Promise<readonly TaskId[] | undefined> {
  const best = await findBest(db, deps, limit);
  if (best === undefined || best.tasks.length === 0) return [];
  const ids = best.tasks.map(({ id }) => id);
  const claimed = await claimTasks(db, ids, deps.instance, best.turn);
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
