/** What a task gets to know of the tasks it continues: their results, merged. */
import type { Json, JsonObject, MergeStrategy } from "@drover/contract";

export interface SourceResult {
  readonly taskId: string;
  readonly result: JsonObject;
}

const flatten = (sources: readonly SourceResult[]): readonly [string, Json][] =>
  sources.flatMap(({ result }) => Object.entries(result));

/** combine: everything, and of equal keys the first; union: of equal keys the last; intersection: keys of all, the last value. */
export function mergeResults(strategy: MergeStrategy, sources: readonly SourceResult[]): JsonObject {
  if (strategy === "union") return Object.fromEntries(flatten(sources));
  if (strategy === "intersection") {
    const isEverywhere = (key: string) => sources.every(({ result }) => Object.hasOwn(result, key));
    return Object.fromEntries(flatten(sources).filter(([key]) => isEverywhere(key)));
  }
  return {
    ...Object.fromEntries(flatten(sources.toReversed())),
    _source_results: Object.fromEntries(sources.map(({ taskId, result }) => [taskId, result])),
  };
}
