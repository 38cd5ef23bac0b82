/** The curves of the overview: how many work, how fast events come, how well agents keep to their goals, what it costs, what waits. */
import type { MetricName, Metrics } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { formatCost, formatDuration, formatShort } from "../data/format.ts";
import { MONITOR_RANGES, parseMonitorSearch, type MonitorRange } from "../search-params.ts";
import { Chart } from "../ui/chart.tsx";
import { Choice } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { metricsQuery } from "./queries.ts";

interface Curve {
  readonly metric: MetricName;
  readonly title: string;
  readonly tone: "live" | "done" | "wait" | "fail" | "mind";
  readonly format: (value: number) => string;
  readonly most?: number;
  readonly isCount?: true;
}

const round = (value: number): string => formatShort(Math.round(value * 10) / 10);
const score = (value: number): string => value.toFixed(2);
const seconds = (value: number): string => formatDuration(value * 1_000);

const CURVES: readonly Curve[] = [
  { metric: "active_sandboxes", title: "Active sandboxes", tone: "live", format: round },
  {
    metric: "event_rate",
    title: "Events per second",
    tone: "live",
    format: (value) => value.toFixed(value < 10 ? 1 : 0),
  },
  { metric: "alignment", title: "Alignment", tone: "mind", format: score, most: 1 },
  { metric: "coherence", title: "Coherence", tone: "mind", format: score, most: 1 },
  { metric: "cost_usd", title: "Cost", tone: "done", format: formatCost, isCount: true },
  { metric: "tokens", title: "Tokens", tone: "done", format: formatShort, isCount: true },
  { metric: "queue_depth", title: "Tasks that wait", tone: "wait", format: round },
  { metric: "time_to_assign_seconds", title: "Until a task is taken", tone: "wait", format: seconds },
  { metric: "interventions", title: "Interventions", tone: "mind", format: round, isCount: true },
  { metric: "task_failures", title: "Failed tries", tone: "fail", format: round, isCount: true },
  { metric: "stuck_sandboxes", title: "Idle, stuck or silent", tone: "fail", format: round },
  { metric: "event_lag_seconds", title: "Oldest event not passed on", tone: "fail", format: seconds },
];

const OPTIONS = MONITOR_RANGES.map((range) => ({ value: range, label: range }));

export function Charts() {
  const { range = "1h" } = parseMonitorSearch(useSearch({ from: "/inside/monitor" }));
  const navigate = useNavigate({ from: "/monitor" });
  const metrics = useQuery(metricsQuery(range));
  const change = (next: MonitorRange) =>
    void navigate({ search: (old) => parseMonitorSearch({ ...old, range: next }), replace: true });
  return (
    <section aria-label="Charts" className="flex flex-col gap-3">
      <div className="flex items-center justify-between">
        <h2 className="font-semibold tracking-tight">Over time</h2>
        <Choice label="Range" value={range} options={OPTIONS} onChange={change} />
      </div>
      {metrics.isError && (
        <Problem error={metrics.error} what="The figures could not be read" onRetry={() => void metrics.refetch()} />
      )}
      <div className="grid gap-3 sm:grid-cols-2 xl:grid-cols-4">
        {CURVES.map((curve) =>
          metrics.data === undefined ? (
            <div key={curve.metric} className="skeleton h-42 rounded-2xl!" />
          ) : (
            <Chart key={curve.metric} {...curve} points={findPoints(metrics.data, curve.metric)} />
          ),
        )}
      </div>
    </section>
  );
}

const findPoints = ({ series }: Metrics, metric: MetricName) =>
  series.find((one) => one.metric === metric)?.points ?? [];
