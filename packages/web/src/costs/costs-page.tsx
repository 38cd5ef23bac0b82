/** What models cost: by model, by call, and the limits that hold. */
import type { Budget, CostSummary } from "@drover/contract";
import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, TriangleAlert } from "lucide-react";
import { useEffect, useState, type FormEvent } from "react";
import { TopBar } from "../app/top-bar-slot.tsx";
import { client } from "../data/client.ts";
import { formatAge, formatCost, formatCount, formatDay, formatShort, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { projectsQuery, queryClient } from "../data/queries.ts";
import { Section } from "../pages/section.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { Select } from "../ui/select.tsx";
import { useMayOperate } from "../work/use-may-operate.ts";

const summaryQuery = queryOptions({
  queryKey: ["costs", "summary"] as const,
  queryFn: ({ signal }) => client.summariseCosts({ query: { scope_type: "global" } }, { signal }),
});
const budgetsQuery = queryOptions({
  queryKey: ["costs", "budgets"] as const,
  queryFn: ({ signal }) => client.listBudgets({ query: { limit: 100 } }, { signal }),
});
const callsQuery = queryOptions({
  queryKey: ["costs", "calls"] as const,
  queryFn: ({ signal }) => client.listCosts({ query: { limit: 30 } }, { signal }),
});

const readCosts = () => queryClient.invalidateQueries({ queryKey: ["costs"] });

export function CostsPage() {
  const summary = useQuery(summaryQuery);
  useEffect(() => {
    document.title = "Costs · Drover";
  }, []);
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <TopBar>
        <h1 className="text-base font-semibold tracking-tight">Costs</h1>
      </TopBar>
      <div className="mx-auto flex max-w-4xl flex-col gap-8 px-4 py-6 md:px-6">
        {summary.isError && (
          <Problem error={summary.error} what="The costs could not be read" onRetry={() => void summary.refetch()} />
        )}
        {summary.isPending && <div className="skeleton h-24" />}
        {summary.data !== undefined && <Totals summary={summary.data} />}
        <Budgets />
        {summary.data !== undefined && <Models summary={summary.data} />}
        <Calls />
      </div>
    </div>
  );
}

function Totals({ summary }: { readonly summary: CostSummary }) {
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
        </p>
      )}
    </div>
  );
}

function Models({ summary }: { readonly summary: CostSummary }) {
  const highest = Math.max(0.000_001, ...summary.breakdown.map((one) => one.total_cost));
  return (
    <Section title="By model">
      {summary.breakdown.length === 0 && <p className="px-4 py-3 text-xs text-ink-3">No model was called yet.</p>}
      {summary.breakdown.map((one) => (
        <div
          key={`${one.provider}/${one.model}`}
          className="grid grid-cols-[1fr_6rem_6rem] items-center gap-x-4 px-4 py-2.5"
        >
          <div className="min-w-0">
            <p className="truncate font-mono text-xs">{one.model}</p>
            <div className="mt-1.5 h-1 overflow-hidden rounded-full bg-sunken" aria-hidden>
              <div className="h-full rounded-full bg-live" style={{ width: `${(one.total_cost / highest) * 100}%` }} />
            </div>
          </div>
          <p className="text-right text-xs text-ink-3 tabular-nums">
            {formatShort(one.total_tokens)} in {plural(one.record_count, "call")}
          </p>
          <p className="text-right text-sm font-medium tabular-nums">
            {one.unpriced_count === one.record_count ? "no price" : formatCost(one.total_cost)}
          </p>
        </div>
      ))}
    </Section>
  );
}

function Budgets() {
  const budgets = useQuery(budgetsQuery);
  const mayOperate = useMayOperate();
  const [isAsking, setAsking] = useState(false);
  const [doomed, setDoomed] = useState<Budget>();
  const remove = useMutation({
    mutationFn: (budget: Budget) => client.deleteBudget({ params: { budget_id: budget.id } }),
    onSuccess: readCosts,
    onError: (error) => notify.bad(`Not removed: ${error.message}`),
  });
  return (
    <Section
      title="Budgets"
      action={
        mayOperate && (
          <Button size="small" onClick={() => setAsking(true)}>
            <Plus size={14} /> New budget
          </Button>
        )
      }
    >
      {budgets.isError && (
        <div className="p-4">
          <Problem error={budgets.error} what="The budgets could not be read" onRetry={() => void budgets.refetch()} />
        </div>
      )}
      {budgets.data?.items.length === 0 && (
        <p className="px-4 py-3 text-xs text-ink-3">Nothing limits what models may cost.</p>
      )}
      {budgets.data?.items.map((budget) => (
        <BudgetLine key={budget.id} budget={budget} {...(mayOperate ? { onRemove: () => setDoomed(budget) } : {})} />
      ))}
      <NewBudget isOpen={isAsking} onClose={() => setAsking(false)} />
      <Confirm
        isOpen={doomed !== undefined}
        onClose={() => setDoomed(undefined)}
        onConfirm={() => doomed !== undefined && remove.mutate(doomed)}
        title="Remove this budget?"
        text="From now on it limits nothing; what was spent stays recorded."
        verb="Remove"
      />
    </Section>
  );
}

const nameScope = (budget: Budget): string =>
  budget.scope_type === "global" ? "Everything" : `${budget.scope_type} ${budget.scope_id ?? ""}`;

function BudgetLine({ budget, onRemove }: { readonly budget: Budget; readonly onRemove?: () => void }) {
  const look = budget.exceeded ? "bg-fail" : budget.alert_triggered ? "bg-wait" : "bg-live";
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3" data-budget={budget.id}>
      <div className="min-w-0 flex-1 basis-60">
        <p className="truncate text-sm font-medium">{nameScope(budget)}</p>
        <div
          role="img"
          aria-label={`${Math.round(budget.utilization * 100)}% used`}
          className="mt-1.5 h-1.5 overflow-hidden rounded-full bg-sunken"
        >
          <div
            className={cx("h-full rounded-full", look)}
            style={{ width: `${Math.min(100, budget.utilization * 100)}%` }}
          />
        </div>
      </div>
      <p className={cx("text-sm tabular-nums", budget.exceeded && "font-semibold text-fail-ink")}>
        {formatCost(budget.spent_amount)} <span className="text-ink-3">of {formatCost(budget.limit_amount)}</span>
      </p>
      {budget.exceeded && <span className="text-xs font-semibold text-fail-ink">used up</span>}
      {onRemove !== undefined && (
        <Button size="small" look="ghost" onClick={onRemove} aria-label={`Remove the budget of ${nameScope(budget)}`}>
          Remove
        </Button>
      )}
    </div>
  );
}

function NewBudget({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const projects = useQuery(projectsQuery);
  const [scope, setScope] = useState("");
  const [limit, setLimit] = useState("");
  const create = useMutation({
    mutationFn: () =>
      client.createBudget({
        body: {
          limit_amount: Number(limit),
          ...(scope === "" ? { scope_type: "global" as const } : { scope_type: "project" as const, scope_id: scope }),
        },
      }),
    onSuccess: () => {
      setLimit("");
      onClose();
      return readCosts();
    },
  });
  const isNumber = Number(limit) > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isNumber) create.mutate();
  };
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="New budget"
      description="At 80% it warns. Used up, it pauses whoever would spend more, and asks you."
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Select
          label="For"
          value={scope}
          onChange={(event) => setScope(event.target.value)}
          options={[
            { value: "", label: "Everything" },
            ...(projects.data?.items ?? []).map((project) => ({ value: project.id, label: `Project ${project.name}` })),
          ]}
        />
        <Field
          label="Limit, USD"
          inputMode="decimal"
          data-focus-first
          value={limit}
          onChange={(event) => setLimit(event.target.value)}
          complaint={limit !== "" && !isNumber ? "A number above 0." : undefined}
        />
        {create.isError && <Problem error={create.error} what="The budget was not made" />}
        <Button type="submit" look="solid" className="self-end" disabled={!isNumber || create.isPending}>
          Create budget
        </Button>
      </form>
    </Dialog>
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
            <Link
              to="/sandboxes/$sandboxId"
              params={{ sandboxId: call.sandbox_id }}
              className="font-mono text-live-ink underline underline-offset-2"
            >
              {call.sandbox_id}
            </Link>
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
