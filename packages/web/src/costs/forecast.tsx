/** What the tasks that wait are expected to cost. */
import { useQuery } from "@tanstack/react-query";
import { client } from "../data/client.ts";
import { formatCost, formatShort, plural } from "../data/format.ts";
import { dashboardQuery } from "../monitor/queries.ts";

const ORIGINS = {
  given: "as asked for",
  measured: "as finished tasks needed",
  default: "a guess until tasks have finished",
} as const;

export function Forecast() {
  const dashboard = useQuery(dashboardQuery);
  const count = dashboard.data?.total_tasks_pending ?? 0;
  const forecast = useQuery({
    queryKey: ["costs", "forecast", count] as const,
    queryFn: ({ signal }) =>
      client.forecastCosts(
        { body: { pending_task_count: count, provider: "anthropic", model: "claude-sonnet-4.5" } },
        { signal },
      ),
    enabled: count > 0,
  });
  const { data } = forecast;
  if (data === undefined) return null;
  return (
    <p className="text-sm text-ink-2" data-testid="forecast">
      {plural(count, "task")} to do: about{" "}
      <strong className="font-semibold text-ink tabular-nums">
        {data.estimated_cost === null
          ? `${formatShort(data.estimated_tokens)} tokens`
          : formatCost(data.estimated_cost)}
      </strong>{" "}
      <span className="text-ink-3">
        with {data.model}, at {formatShort(data.avg_tokens_per_task)} tokens each ({ORIGINS[data.avg_tokens_origin]}).
      </span>
    </p>
  );
}
