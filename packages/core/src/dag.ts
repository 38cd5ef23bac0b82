/** The graph of dependencies: cycles, and what would wait for ever. */

/** For each task the ones it waits for. */
export type Dependencies<Id extends string = string> = ReadonlyMap<Id, readonly Id[]>;

/** A cycle through `start` as the path that closes it, first and last the same; undefined when there is none. */
export function findCycle<Id extends string>(graph: Dependencies<Id>, start: Id): readonly Id[] | undefined {
  const cameFrom = new Map<Id, Id>();
  const open: Id[] = [start];
  const seen = new Set<Id>();
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    for (const next of graph.get(at) ?? []) {
      if (next === start) return closePath(cameFrom, start, at);
      if (seen.has(next)) continue;
      cameFrom.set(next, at);
      open.push(next);
    }
  }
  return undefined;
}

function closePath<Id extends string>(cameFrom: ReadonlyMap<Id, Id>, start: Id, last: Id): readonly Id[] {
  const path: Id[] = [start];
  for (let at: Id | undefined = last; at !== undefined && at !== start; at = cameFrom.get(at)) path.unshift(at);
  return [start, ...path];
}
