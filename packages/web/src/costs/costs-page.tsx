/** What models cost: over time, by model, project or run, by call; the limits that hold; and what is to come. */
import type { CostSummary } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { formatAge, formatCost, formatCount, formatDay, formatShort, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { useMay } from "../data/use-may.ts";
import { Section } from "../pages/section.tsx";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { Breakdown, Days } from "./breakdown.tsx";
import { Budgets } from "./budgets.tsx";
import { Forecast } from "./forecast.tsx";
import { callsQuery, summaryQuery } from "./queries.ts";

export function CostsPage() {
  const summary = useQuery(summaryQuery);
  return (
    <Page title="Costs" width="middle">
      {summary.isError && (
        <Problem error={summary.error} what="The costs could not be read" onRetry={() => void summary.refetch()} />
      )}
      {summary.isPending && <div className="skeleton h-24" />}
      {summary.data !== undefined && <Totals summary={summary.data} />}
      <Days />
      <Forecast />
      <Budgets />
      <Breakdown />
      <Calls />
    </Page>
  );
}

function Totals({ summary }: { readonly summary: CostSummary }) {
  const mayAdminister = useMay("administer");
  const figures = [
    { name: "spent", value: formatCost(summary.total_cost) },
    { name: "calls", value: formatCount(summary.record_count) },
    { name: "tokens in", value: formatShort(summary.prompt_tokens) },
    { name: "tokens out", value: formatShort(summary.completion_tokens) },
  ];
  return (
    <div>
      <dl className="grid grid-cols-2 gap-x-8 gap-y-4 sm:grid-cols-4">
        {figures.map(({ name, value }) => (
          <div key={name} className="flex flex-col-reverse">
            <dt className="text-xs text-ink-3">{name}</dt>
            <dd className="text-3xl font-semibold tracking-tight tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
      {summary.unpriced_count > 0 && (
        <p className="mt-3 flex items-center gap-1.5 text-xs text-wait-ink">
          <TriangleAlert size={13} aria-hidden />
          {plural(summary.unpriced_count, "call")} of models without a price are in the tokens and not in the cost.
          {mayAdminister && (
            <Link to="/settings" search={{ section: "models" }} className="font-medium underline underline-offset-2">
              Set their prices
            </Link>
          )}
        </p>
      )}
    </div>
  );
}

function Calls() {
  const calls = useQuery(callsQuery);
  const now = useNow();
  if (calls.data === undefined || calls.data.items.length === 0) return null;
  return (
    <Section title="Last calls">
      {calls.data.items.map((call) => (
        <div
          key={call.id}
          className="grid grid-cols-[1fr_auto_5rem_3rem] items-center gap-x-4 px-4 py-2 text-xs tabular-nums"
        >
          <span className="min-w-0 truncate">
            <code className="font-mono">{call.model}</code>{" "}
            {call.purpose !== "agent" && <span className="text-ink-3">({call.purpose}) </span>}
            {call.sandbox_id !== null && (
              <Link
                to="/sandboxes/$sandboxId"
                params={{ sandboxId: call.sandbox_id }}
                className="font-mono text-live-ink underline underline-offset-2"
              >
                {call.sandbox_id}
              </Link>
            )}
          </span>
          <span className="text-ink-3">
            {formatShort(call.prompt_tokens)} in, {formatShort(call.completion_tokens)} out
          </span>
          <span className="text-right font-medium">
            {call.total_cost === null ? "no price" : formatCost(call.total_cost)}
          </span>
          <time className="text-right text-ink-3" dateTime={call.recorded_at} title={formatDay(call.recorded_at)}>
            {formatAge(now - Date.parse(call.recorded_at))}
          </time>
        </div>
      ))}
    </Section>
  );
}
