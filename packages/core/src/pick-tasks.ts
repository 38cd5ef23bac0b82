/** Picks what is started now from what is ready: best score first, within the limits. */
import { toScore, type Scored, type ScoreWeights } from "./score.ts";

export interface Candidate extends Scored {
  readonly id: string;
  readonly project_id: string;
  readonly ticket_id: string;
  readonly owned_files: readonly string[];
}

/** What already runs and holds files. */
export interface Holder {
  readonly ticket_id: string;
  readonly owned_files: readonly string[];
}

export interface Room {
  readonly overall: number;
  readonly byProject: ReadonlyMap<string, number>;
}

type Overlaps = (a: readonly string[], b: readonly string[]) => boolean;

/** Equal scores go by age, then by id. */
export function orderByScore<T extends Scored & { readonly id: string }>(
  tasks: readonly T[],
  weights: ScoreWeights,
  now: Date,
): readonly T[] {
  return tasks
    .map((task) => ({ task, score: toScore(task, weights, now) }))
    .toSorted(
      (a, b) =>
        b.score - a.score ||
        a.task.created_at.getTime() - b.task.created_at.getTime() ||
        (a.task.id < b.task.id ? -1 : 1),
    )
    .map(({ task }) => task);
}

/** Two tasks of one ticket that may touch the same file do not run at once: the later one stays ready. */
export function pickTasks<T extends Candidate>(
  ordered: readonly T[],
  holders: readonly Holder[],
  room: Room,
  overlaps: Overlaps,
): readonly T[] {
  const held = Map.groupBy(
    holders.filter((holder) => holder.owned_files.length > 0),
    (holder) => holder.ticket_id,
  );
  const left = new Map(room.byProject);
  const picked: T[] = [];
  for (const task of ordered) {
    if (picked.length >= room.overall) break;
    const free = left.get(task.project_id) ?? 0;
    if (free <= 0) continue;
    const siblings = held.get(task.ticket_id) ?? [];
    if (task.owned_files.length > 0 && siblings.some((one) => overlaps(one.owned_files, task.owned_files))) continue;
    picked.push(task);
    left.set(task.project_id, free - 1);
    if (task.owned_files.length > 0) held.set(task.ticket_id, [...siblings, task]);
  }
  return picked;
}
