/** Of the last day: how runs ended, how long it took until they were at work, and what was spent. */
import type { Sandbox } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { latelyQuery, toRecord } from "../agents/runs-of-agents.ts";
import { breakdownQuery } from "../costs/queries.ts";
import { formatCost, formatDuration } from "../data/format.ts";
import { useMinute } from "../data/now.ts";
import { BigFigure } from "./big-figure.tsx";

const DAY_MS = 86_400_000;
const SLOW = 0.95;

/** So long, and no longer, took all but one in twenty. */
function toSlowStart(runs: readonly Sandbox[]): number | undefined {
  const waits = runs
    .flatMap(({ provider, created_at: created, started_at: started }) =>
      provider === "external" || started === null ? [] : [Date.parse(started) - Date.parse(created)],
    )
    .toSorted((one, other) => one - other);
  return waits[Math.max(0, Math.ceil(waits.length * SLOW) - 1)];
}

/** Nobody has to count what a day of silence was like. */
const say = (value: string | undefined, isRead: boolean): string => (isRead ? (value ?? "–") : "…");

export function Lately({ isHeld }: { readonly isHeld: boolean }) {
  const now = useMinute();
  const lately = useQuery({ ...latelyQuery, enabled: ({ state }) => !isHeld || state.data === undefined });
  const spent = useQuery({
    ...breakdownQuery("model", 1),
    enabled: ({ state }) => !isHeld || state.data === undefined,
  });
  const runs = lately.data?.items.filter(({ created_at: created }) => Date.parse(created) > now - DAY_MS) ?? [];
  const { success } = toRecord(runs);
  const slowMs = toSlowStart(runs);
  const costUsd = spent.data?.items.reduce((sum, item) => sum + item.total_cost, 0);
  return (
    <>
      <BigFigure
        name="went well in a day"
        value={say(success === null ? undefined : `${Math.round(success * 100)}%`, lately.isSuccess)}
        isAlarm={success !== null && success < 0.5}
        link={(children, className) => (
          <Link to="/sandboxes" search={{ state: "failed" }} className={className}>
            {children}
          </Link>
        )}
      />
      <BigFigure
        name="until at work, p95"
        value={say(slowMs === undefined ? undefined : formatDuration(slowMs), lately.isSuccess)}
        link={(children, className) => (
          <Link to="/sandboxes" className={className}>
            {children}
          </Link>
        )}
      />
      <BigFigure
        name="spent in a day"
        value={say(costUsd === undefined ? undefined : formatCost(costUsd), spent.isSuccess)}
        link={(children, className) => (
          <Link to="/costs" className={className}>
            {children}
          </Link>
        )}
      />
    </>
  );
}
