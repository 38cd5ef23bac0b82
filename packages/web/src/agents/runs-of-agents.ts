/** How agents fared lately: from the newest sandboxes, by the runtime that worked in them. */
import type { Sandbox } from "@drover/contract";
import { queryOptions } from "@tanstack/react-query";
import { client } from "../data/client.ts";

/** So many of the newest are looked at; the page says so. */
export const LATELY = 500;

/** Read again while somebody looks. */
export const latelyQuery = queryOptions({
  queryKey: ["agents", "lately"] as const,
  queryFn: ({ signal }) => client.listSandboxes({ query: { limit: LATELY } }, { signal }),
  refetchInterval: 15_000,
});

export interface AgentRecord {
  readonly runs: readonly Sandbox[];
  readonly working: number;
  readonly completed: number;
  readonly failed: number;
  /** Of those that ended by themselves; null while none has. */
  readonly success: number | null;
  readonly costUsd: number;
  readonly tokens: number;
  /** The middle one of the times that ended runs took; null while none has. */
  readonly medianMs: number | null;
}

const WORKING: ReadonlySet<string> = new Set(["pending", "creating", "running", "paused", "completing"]);

export const isAtWork = ({ state }: Sandbox): boolean => WORKING.has(state);

function toMedian(values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

export function toRecord(runs: readonly Sandbox[]): AgentRecord {
  const completed = runs.filter(({ state }) => state === "completed").length;
  const failed = runs.filter(({ state }) => state === "failed").length;
  return {
    runs,
    working: runs.filter(isAtWork).length,
    completed,
    failed,
    success: completed + failed === 0 ? null : completed / (completed + failed),
    costUsd: runs.reduce((sum, { cost_usd: cost }) => sum + (cost ?? 0), 0),
    tokens: runs.reduce((sum, { tokens }) => sum + tokens.total, 0),
    medianMs: toMedian(
      runs.flatMap(({ started_at: start, ended_at: end }) =>
        start === null || end === null ? [] : [Date.parse(end) - Date.parse(start)],
      ),
    ),
  };
}

export const toRecords = (sandboxes: readonly Sandbox[]): ReadonlyMap<string, AgentRecord> =>
  new Map(
    [...Map.groupBy(sandboxes, ({ runtime }) => runtime ?? "external")].map(([name, runs]) => [name, toRecord(runs)]),
  );
