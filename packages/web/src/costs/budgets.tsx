/** Limits on what models may cost: how far each is used, raised or lowered, taken away. */
import type { Budget } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState, type FormEvent } from "react";
import { client } from "../data/client.ts";
import { formatCost } from "../data/format.ts";
import { projectsQuery } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Section } from "../pages/section.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { Select } from "../ui/select.tsx";
import { budgetsQuery, readCosts } from "./queries.ts";

export function Budgets() {
  const budgets = useQuery(budgetsQuery);
  const mayOperate = useMay("operate");
  const [isAsking, setAsking] = useState(false);
  const [doomed, setDoomed] = useState<Budget>();
  const [changed, setChanged] = useState<Budget>();
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
        <BudgetLine
          key={budget.id}
          budget={budget}
          {...(mayOperate ? { onRemove: () => setDoomed(budget), onChange: () => setChanged(budget) } : {})}
        />
      ))}
      <NewBudget isOpen={isAsking} onClose={() => setAsking(false)} />
      {changed !== undefined && <ChangeBudget budget={changed} onClose={() => setChanged(undefined)} />}
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

function useScopeName(budget: Budget): string {
  const projects = useQuery(projectsQuery);
  if (budget.scope_type === "global") return "Everything";
  const project = projects.data?.items.find((one) => one.id === budget.scope_id);
  return project === undefined ? `${budget.scope_type} ${budget.scope_id ?? ""}` : `Project ${project.name}`;
}

interface BudgetLineProps {
  readonly budget: Budget;
  readonly onRemove?: () => void;
  readonly onChange?: () => void;
}

function BudgetLine({ budget, onRemove, onChange }: BudgetLineProps) {
  const name = useScopeName(budget);
  const look = budget.exceeded ? "bg-fail" : budget.alert_triggered ? "bg-wait" : "bg-live";
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3" data-budget={budget.id}>
      <div className="min-w-0 flex-1 basis-60">
        <p className="truncate text-sm font-medium">{name}</p>
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
      <p className={cx("text-sm tabular-nums sm:w-36 sm:text-right", budget.exceeded && "font-semibold text-fail-ink")}>
        {formatCost(budget.spent_amount)} <span className="text-ink-3">of {formatCost(budget.limit_amount)}</span>
      </p>
      {budget.exceeded && <span className="text-xs font-semibold text-fail-ink">used up</span>}
      {onChange !== undefined && (
        <Button size="small" onClick={onChange} aria-label={`Change the budget of ${name}`}>
          Change
        </Button>
      )}
      {onRemove !== undefined && (
        <Button size="small" look="ghost" onClick={onRemove} aria-label={`Remove the budget of ${name}`}>
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

/** Raised, it lets those go on that it has stopped, once somebody resumes them. */
function ChangeBudget({ budget, onClose }: { readonly budget: Budget; readonly onClose: () => void }) {
  const name = useScopeName(budget);
  const [limit, setLimit] = useState(String(budget.limit_amount));
  const change = useMutation({
    mutationFn: (amount: number) =>
      client.changeBudget({ params: { budget_id: budget.id }, body: { limit_amount: amount } }),
    onSuccess: (kept) => {
      onClose();
      void readCosts();
      notify.undoable(`The limit is ${formatCost(kept.limit_amount)}`, () => {
        void client
          .changeBudget({ params: { budget_id: budget.id }, body: { limit_amount: budget.limit_amount } })
          .then(readCosts)
          .catch((error: Error) => notify.bad(`Not undone: ${error.message}`));
      });
    },
  });
  const isNumber = Number(limit) > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isNumber) change.mutate(Number(limit));
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Budget: ${name}`}
      description={`${formatCost(budget.spent_amount)} are spent, and ${formatCost(budget.reserved_amount)} held for calls under way.`}
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field
          label="Limit, USD"
          inputMode="decimal"
          data-focus-first
          value={limit}
          onChange={(event) => setLimit(event.target.value)}
          complaint={isNumber ? undefined : "A number above 0."}
        />
        {change.isError && <Problem error={change.error} what="The budget was not changed" />}
        <Button type="submit" look="solid" className="self-end" disabled={!isNumber || change.isPending}>
          Keep limit
        </Button>
      </form>
    </Dialog>
  );
}
