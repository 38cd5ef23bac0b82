/** When each task can begin at the earliest, how late it may be, and which chain decides the end. */

export interface Timed<Id extends string = string> {
  readonly id: Id;
  readonly dependsOn: readonly Id[];
  /** Seconds that it took or is thought to take. */
  readonly seconds: number;
}

export interface Plan<Id extends string = string> {
  readonly earliestStart: ReadonlyMap<Id, number>;
  readonly slack: ReadonlyMap<Id, number>;
  readonly totalSeconds: number;
  /** From first to last; ties go to the longer chain, then to the order given. */
  readonly path: readonly Id[];
}

/** Each task after all that it waits for; tasks of a cycle are left out, and unknown dependencies do not count. */
export function toOrder<Id extends string>(tasks: readonly Timed<Id>[]): readonly Timed<Id>[] {
  const known = new Map(tasks.map((task) => [task.id, task]));
  const waiting = new Map(tasks.map((task) => [task.id, task.dependsOn.filter((id) => known.has(id)).length]));
  const dependents = new Map<Id, Timed<Id>[]>();
  for (const task of tasks)
    for (const id of task.dependsOn) if (known.has(id)) dependents.set(id, [...(dependents.get(id) ?? []), task]);
  const order = tasks.filter((task) => waiting.get(task.id) === 0);
  for (const { id } of order) {
    for (const next of dependents.get(id) ?? []) {
      const left = (waiting.get(next.id) ?? 0) - 1;
      waiting.set(next.id, left);
      if (left === 0) order.push(next);
    }
  }
  return order;
}

export function planTasks<Id extends string>(tasks: readonly Timed<Id>[]): Plan<Id> {
  const order = toOrder(tasks);
  const start = new Map<Id, number>();
  const hops = new Map<Id, number>();
  const before = new Map<Id, Id>();
  const finishOf = (task: Timed<Id>) => (start.get(task.id) ?? 0) + task.seconds;
  const byId = new Map(order.map((task) => [task.id, task]));
  for (const task of order) {
    start.set(task.id, 0);
    hops.set(task.id, 1);
    for (const id of task.dependsOn) {
      const previous = byId.get(id);
      if (previous === undefined) continue;
      const reached = finishOf(previous);
      const length = (hops.get(id) ?? 0) + 1;
      const best = start.get(task.id) ?? 0;
      if (reached < best || (reached === best && length <= (hops.get(task.id) ?? 0))) continue;
      start.set(task.id, reached);
      hops.set(task.id, length);
      before.set(task.id, id);
    }
  }
  const totalSeconds = order.reduce((most, task) => Math.max(most, finishOf(task)), 0);
  const slack = new Map<Id, number>();
  const latest = new Map<Id, number>();
  for (const task of order.toReversed()) {
    const finish = latest.get(task.id) ?? totalSeconds;
    const begin = finish - task.seconds;
    slack.set(task.id, Math.max(0, begin - (start.get(task.id) ?? 0)));
    for (const id of task.dependsOn) latest.set(id, Math.min(latest.get(id) ?? totalSeconds, begin));
  }
  const last = order
    .filter((task) => finishOf(task) === totalSeconds)
    .toSorted((a, b) => (hops.get(b.id) ?? 0) - (hops.get(a.id) ?? 0))[0];
  const path: Id[] = [];
  for (let id = last?.id; id !== undefined; id = before.get(id)) path.unshift(id);
  return { earliestStart: start, slack, totalSeconds, path };
}

/** Tasks that can run at once, wave by wave; tasks of one wave that may not are put into the next. */
export function toWaves<Id extends string>(
  tasks: readonly Timed<Id>[],
  conflicts: (a: Id, b: Id) => boolean,
): readonly (readonly Id[])[] {
  const waves: Id[][] = [];
  const waveOf = new Map<Id, number>();
  for (const task of toOrder(tasks)) {
    let wave = Math.max(0, ...task.dependsOn.map((id) => (waveOf.get(id) ?? -1) + 1));
    while ((waves[wave] ?? []).some((id) => conflicts(id, task.id))) wave += 1;
    (waves[wave] ??= []).push(task.id);
    waveOf.set(task.id, wave);
  }
  return waves.filter((wave) => wave.length > 0);
}
