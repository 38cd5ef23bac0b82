/** Where the money went: by day as bars, and by whatever one asks for as a list. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { formatCost, formatShort, plural } from "../data/format.ts";
import { COST_SPLITS, parseCostsSearch, type CostSplit } from "../search-params.ts";
import { Section } from "../pages/section.tsx";
import { Chart, type ChartPoint } from "../ui/chart.tsx";
import { Empty } from "../ui/empty.tsx";
import { Choice } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { breakdownQuery } from "./queries.ts";

const DAYS = 30;
const DAY_MS = 86_400_000;
const SHOWN = 12;

/** A bar for each of the last days, also for those on which nothing was spent. */
function toDays(
  items: readonly { readonly key: string; readonly total_cost: number }[],
  now: number,
): readonly ChartPoint[] {
  const costs = new Map(items.map((item) => [item.key.slice(0, 10), item.total_cost]));
  return Array.from({ length: DAYS }, (_, n) => {
    const at = new Date(now - (DAYS - 1 - n) * DAY_MS).toISOString();
    return { at, value: costs.get(at.slice(0, 10)) ?? 0 };
  });
}

export function Days() {
  const days = useQuery({ ...breakdownQuery("day", DAYS), select: (data) => toDays(data.items, Date.now()) });
  if (days.isError)
    return <Problem error={days.error} what="The days could not be read" onRetry={() => void days.refetch()} />;
  if (days.data === undefined) return <div className="skeleton h-42 rounded-2xl!" />;
  return <Chart title={`Cost of the last ${DAYS} days`} tone="done" isCount points={days.data} format={formatCost} />;
}

const LABELS: Readonly<Record<CostSplit, string>> = {
  model: "Model",
  project: "Project",
  ticket: "Ticket",
  sandbox: "Sandbox",
  phase: "Phase",
};
const OPTIONS = COST_SPLITS.map((value) => ({ value, label: LABELS[value] }));

export function Breakdown() {
  const { by = "model" } = parseCostsSearch(useSearch({ from: "/inside/costs" }));
  const navigate = useNavigate({ from: "/costs" });
  const breakdown = useQuery(breakdownQuery(by, DAYS));
  const items = breakdown.data?.items ?? [];
  const highest = Math.max(0.000_001, ...items.map((one) => one.total_cost));
  return (
    <Section
      title={`By ${LABELS[by].toLowerCase()}`}
      action={
        <Choice
          label="Split by"
          value={by}
          options={OPTIONS}
          onChange={(next) => void navigate({ search: (old) => parseCostsSearch({ ...old, by: next }), replace: true })}
        />
      }
    >
      {breakdown.isPending && <div className="skeleton m-4 h-24" />}
      {breakdown.isError && (
        <div className="p-4">
          <Problem
            error={breakdown.error}
            what="The costs could not be split"
            onRetry={() => void breakdown.refetch()}
          />
        </div>
      )}
      {breakdown.data?.items.length === 0 && (
        <Empty title="No model was called yet">What each call costs stands here, as soon as an agent makes one.</Empty>
      )}
      {items.slice(0, SHOWN).map((one) => (
        <div
          key={one.key}
          className="grid grid-cols-[1fr_auto_5rem] items-center gap-x-4 px-4 py-2.5"
          data-split={one.key}
        >
          <div className="min-w-0">
            <p className={by === "model" ? "truncate font-mono text-xs" : "truncate text-sm"}>{one.label}</p>
            <div className="mt-1.5 h-1 overflow-hidden rounded-full bg-sunken" aria-hidden>
              <div className="h-full rounded-full bg-done" style={{ width: `${(one.total_cost / highest) * 100}%` }} />
            </div>
          </div>
          <p className="text-right text-xs text-ink-3 tabular-nums">
            {formatShort(one.total_tokens)} tokens in {plural(one.record_count, "call")}
          </p>
          <p className="text-right text-sm font-medium tabular-nums">
            {one.record_count > 0 && one.unpriced_count === one.record_count ? "no price" : formatCost(one.total_cost)}
          </p>
        </div>
      ))}
      {items.length > SHOWN && (
        <p className="px-4 py-2.5 text-xs text-ink-3">
          The {SHOWN} dearest of {items.length}.
        </p>
      )}
    </Section>
  );
}
