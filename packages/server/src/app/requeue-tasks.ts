/** Puts waiting tasks at their place in the queue, after what they depend on has changed. */
import { toScoreWeights } from "@drover/core";
import { listMisplaced, listPendingOf, listRipened, lockQueued, refreshTasks } from "../store/task-queue.ts";
import { listNeighbours } from "../store/tasks.ts";
import type { Deps } from "./deps.ts";

const BATCH = 1_000;

/** Always after the commit of what changed: whoever refreshes last has then seen everything. */
async function refreshQueue(deps: Pick<Deps, "db" | "config" | "wake">, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const weights = toScoreWeights(deps.config);
  await deps.db.tx(async (tx) => {
    await lockQueued(tx, ids);
    await refreshTasks(tx, weights, ids);
  });
  deps.wake("dispatch-tasks");
}

/** After tasks changed their state: theirs, and that of what they are tied to. */
export const refreshAround = async (
  deps: Pick<Deps, "db" | "config" | "wake">,
  ids: readonly string[],
): Promise<void> =>
  refreshQueue(
    deps,
    (await listNeighbours(deps.db, ids)).map(({ id }) => id),
  );

/** A ticket or a project may hold or free all that waits in it. */
export async function requeue(
  deps: Pick<Deps, "db" | "config" | "wake">,
  scope: { readonly ticketId: string } | { readonly projectId: string },
): Promise<void> {
  const found = await listPendingOf(deps.db, scope);
  for (let at = 0; at < found.length; at += BATCH) {
    await refreshQueue(
      deps,
      found.slice(at, at + BATCH).map(({ id }) => id),
    );
  }
}

/** Time moves tasks from lane to lane. */
export async function ripenTasks(deps: Deps): Promise<number> {
  const ripened = await listRipened(deps.db, toScoreWeights(deps.config), BATCH);
  await refreshQueue(
    deps,
    ripened.map(({ id }) => id),
  );
  return ripened.length;
}

/** What a process left undone when it died between a change and its refresh. */
export async function mendQueueOnce(deps: Deps): Promise<{ mended: number }> {
  const misplaced = await listMisplaced(deps.db, toScoreWeights(deps.config), BATCH);
  await refreshQueue(
    deps,
    misplaced.map(({ id }) => id),
  );
  return { mended: misplaced.length };
}
