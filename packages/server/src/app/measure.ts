/** Measures what charts and alerts show: every half minute, by one replica, finer for days and coarser for a year. */
import type { MetricName } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { loadHead } from "../store/events.ts";
import {
  COARSER,
  deleteOldMetrics,
  gatherFigures,
  insertFigures,
  loadLag,
  lockMetricCursor,
  RAW_SECONDS,
  rollUp,
  saveMetricCursor,
  type Figure,
  type MetricCursor,
} from "../store/metrics.ts";
import { judgeAlerts } from "./judge-alerts.ts";
import { tellHealth } from "./check-health.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents } from "./event-log.ts";

const FRESH_SECONDS = 600;
const DAY_MS = 86_400_000;
/** How long rows of each step are kept. */
const KEPT_DAYS = { 30: 2, 300: 30, 3600: 400 } as const;
/** After a pause what happened meanwhile is not held against one moment. */
const LONGEST_SPAN_MS = 300_000;
const MOST_EVENTS = 500_000;
/** Counted for ever, for those who compute rates themselves. */
const TOTALS: readonly MetricName[] = ["task_failures", "tokens", "cost_usd", "interventions"];

const toSlot = (atMs: number, seconds: number): Date =>
  new Date(Math.floor(atMs / (seconds * 1_000)) * seconds * 1_000);

/** The first id of a moment: ids of cost records and of events begin with their time. */
export function toFirstId(at: Date): string {
  const hex = Math.max(0, at.getTime()).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

async function gather(tx: Db, deps: Deps, cursor: MetricCursor, now: Date) {
  const sinceMs = Math.max(cursor.at?.getTime() ?? 0, now.getTime() - LONGEST_SPAN_MS);
  const since = cursor.at === null ? new Date(now.getTime() - RAW_SECONDS * 1_000) : new Date(sinceMs);
  const { seq: head } = await loadHead.one(tx);
  // Before the first look nothing is known of when events came.
  const fromSeq = cursor.at === null ? head : Math.max(cursor.event_seq, head - MOST_EVENTS);
  const figures = await gatherFigures(tx, {
    since,
    until: now,
    fromSeq,
    toSeq: head,
    // Clocks of writers differ: a minute early finds what is late, the time of the record decides.
    fromCostId: toFirstId(new Date(since.getTime() - 60_000)),
    freshSeconds: FRESH_SECONDS,
  });
  const { seconds } = await loadLag.one(tx, deps.tail.head(), now);
  const lag: Figure = { metric: "event_lag_seconds", scope: "", value: seconds };
  return { head, figures: [...figures, lag] };
}

const addTotals = (totals: MetricCursor["totals"], figures: readonly Figure[]): MetricCursor["totals"] => ({
  ...totals,
  ...Object.fromEntries(
    TOTALS.map((name) => [
      name,
      (totals[name] ?? 0) + (figures.find(({ metric, scope }) => metric === name && scope === "")?.value ?? 0),
    ]),
  ),
});

async function coarsen(
  tx: Db,
  cursor: MetricCursor,
  now: Date,
): Promise<Pick<MetricCursor, "rolled_300" | "rolled_3600">> {
  const rolled = { rolled_300: cursor.rolled_300, rolled_3600: cursor.rolled_3600 };
  for (const step of COARSER) {
    const to = toSlot(now.getTime(), step);
    const from = rolled[`rolled_${step}`] ?? new Date(0);
    if (from.getTime() >= to.getTime()) continue;
    await rollUp(tx, step, from, to);
    rolled[`rolled_${step}`] = to;
    for (const old of [RAW_SECONDS, ...COARSER] as const)
      await deleteOldMetrics(tx, old, new Date(now.getTime() - KEPT_DAYS[old] * DAY_MS));
  }
  return rolled;
}

/** False when this half minute is measured already, or another replica is at it. */
export async function measureOnce(deps: Deps): Promise<{ isMeasured: boolean }> {
  const afterwards: (() => void)[] = [];
  const measured = await writeWithEvents(deps, async (tx, append) => {
    const cursor = await lockMetricCursor.maybe(tx);
    const now = deps.clock.now();
    const slot = toSlot(now.getTime(), RAW_SECONDS);
    if (cursor === undefined || (cursor.at !== null && cursor.at.getTime() >= slot.getTime()))
      return { isMeasured: false };
    const { head, figures } = await gather(tx, deps, cursor, now);
    await insertFigures(tx, slot, figures);
    const rolled = await coarsen(tx, cursor, now);
    const told = await tellHealth(tx, deps, cursor.health);
    const alerts = await judgeAlerts(tx, deps, figures, now);
    afterwards.push(...alerts.afterwards);
    await saveMetricCursor(tx, {
      at: now,
      event_seq: head,
      ...rolled,
      totals: addTotals(cursor.totals, figures),
      health: told.health,
    });
    const events = [...told.events, ...alerts.events];
    if (events.length > 0) await append(events);
    return { isMeasured: true };
  });
  for (const act of afterwards) act();
  return measured;
}
