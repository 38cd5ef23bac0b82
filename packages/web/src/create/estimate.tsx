/** What it may cost: told from runs like it that are over, and nothing where there are too few. */
import type { CostEstimate } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { packagesQuery } from "../agents/queries.ts";
import { client } from "../data/client.ts";
import { formatCost, formatShort, formatSpan, plural } from "../data/format.ts";
import { projectsQuery } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import type { Draft } from "./draft.ts";
import { useStill } from "./use-still.ts";

const STILL_MS = 400;
/** Plays a script and asks no model. */
const FREE = "scripted";

interface Names {
  readonly agent: string;
  readonly model: string;
  readonly project: string;
}

const toKind = ({ alike }: CostEstimate, { agent, model, project }: Names): string =>
  `${agent}${alike.model && model !== "" ? ` with ${model}` : ""}${alike.project ? ` in ${project}` : ""}`;

export function Estimate({ draft }: { readonly draft: Draft }) {
  const projects = useQuery(projectsQuery);
  const packages = useQuery(packagesQuery);
  const model = useStill(draft.model.trim(), STILL_MS);
  const { runtime, project } = draft;
  const isFree = runtime === FREE;
  const estimate = useQuery({
    queryKey: ["cost-estimate", project, runtime, model] as const,
    queryFn: ({ signal }) =>
      client.estimateCost(
        {
          query: {
            runtime,
            ...(project === "" ? {} : { project_id: project }),
            ...(model === "" ? {} : { model }),
          },
        },
        { signal },
      ),
    enabled: !isFree,
  });
  const names: Names = {
    agent: packages.data?.items.find(({ name }) => name === runtime)?.title ?? runtime,
    model,
    project:
      projects.data?.items.find((one) => (project === "" ? one.is_default : one.id === project))?.name ?? "its project",
  };
  return (
    <section aria-label="What it may cost">
      <h2 className="mb-2 text-xs font-semibold text-ink-3">What it may cost</h2>
      <div className="flex flex-col gap-1.5 rounded-xl border border-line bg-surface px-4 py-3 text-xs text-ink-2 tabular-nums">
        {isFree && <p>Nothing: it plays a script and asks no model.</p>}
        {!isFree && estimate.isPending && <div className="skeleton h-14" role="status" aria-label="Loading" />}
        {!isFree && estimate.isError && (
          <p className="flex items-center gap-2">
            It could not be estimated.
            <Button size="small" look="ghost" onClick={() => void estimate.refetch()}>
              Try again
            </Button>
          </p>
        )}
        {!isFree && estimate.isSuccess && <Told estimate={estimate.data} names={names} budget={Number(draft.budget)} />}
      </div>
    </section>
  );
}

interface ToldProps {
  readonly estimate: CostEstimate;
  readonly names: Names;
  /** 0: none was set. */
  readonly budget: number;
}

function Told({ estimate, names, budget }: ToldProps) {
  const { runs, enough, cost_usd: usd, tokens, seconds, unpriced_runs: unpriced, price } = estimate;
  const kind = toKind(estimate, names);
  if (tokens === null)
    return (
      <>
        <p className="font-medium text-ink">No figure yet</p>
        <p>
          {runs === 0
            ? `No run of ${kind} is over`
            : `Only ${plural(runs, "run")} of ${kind} ${runs === 1 ? "is" : "are"} over`}
          : it takes {enough} to say something.
        </p>
        <Rate price={price} model={names.model} />
      </>
    );
  return (
    <>
      {usd === null ? (
        <p className="font-medium text-ink">Nobody knows the price of the models those runs used</p>
      ) : (
        <p>
          <span className="text-lg font-semibold tracking-tight text-ink">about {formatCost(usd.half)}</span>, nine of
          ten stay below {formatCost(usd.most)}
        </p>
      )}
      <p>
        {formatShort(tokens.half)} tokens
        {seconds !== null &&
          ` in ${formatSpan(seconds.half * 1_000)}, seldom more than ${formatSpan(seconds.most * 1_000)}`}
      </p>
      <p className="text-ink-3">
        From {plural(runs, "run")} of {kind}.
        {unpriced > 0 && ` ${unpriced} of them used models without a price and are not in the cost.`}
      </p>
      <Rate price={price} model={names.model} />
      {usd !== null && budget > 0 && budget < usd.most && (
        <Warning>
          {budget < usd.half ? "Most such runs" : "Some such runs"} cost more than the budget of {formatCost(budget)}:
          it would be paused there, and you are asked.
        </Warning>
      )}
    </>
  );
}

function Rate({ price, model }: { readonly price: CostEstimate["price"]; readonly model: string }) {
  if (model === "") return null;
  if (price === null) return <p className="text-ink-3">{model} has no price in the settings.</p>;
  return (
    <p className="text-ink-3">
      {model}: ${price.input} for a million tokens in, ${price.output} out.
    </p>
  );
}

const Warning = ({ children }: { readonly children: ReactNode }) => (
  <p role="status" className="flex items-start gap-1.5 text-wait-ink">
    <CircleAlert size={13} aria-hidden className="mt-px shrink-0" />
    <span>{children}</span>
  </p>
);
