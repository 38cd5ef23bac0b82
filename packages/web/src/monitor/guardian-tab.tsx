/** The guardian: where each run is heading, by a judge that must name its evidence, and what was done about it. */
import type { GuardianAnalysis } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { formatAge } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Section } from "../pages/section.tsx";
import { Listing } from "../ui/listing.tsx";
import { Empty } from "../ui/empty.tsx";
import { Evidence, SandboxName, useTitles, type Titles } from "./evidence.tsx";
import { InterventionLine } from "./intervention-line.tsx";
import { analysesQuery, interventionsQuery } from "./queries.ts";
import { ScorePath } from "./score-path.tsx";
import { Score } from "./words.tsx";

export function GuardianTab() {
  const titles = useTitles();
  return (
    <>
      <Trajectories titles={titles} />
      <Interventions titles={titles} />
    </>
  );
}

/** Verdicts of one sandbox, the newest first. */
export const groupBySandbox = (items: readonly GuardianAnalysis[]) => [
  ...Map.groupBy(items, (item) => item.sandbox_id as string),
];

function Trajectories({ titles }: { readonly titles: Titles }) {
  const analyses = useQuery(analysesQuery);
  return (
    <Section title="Newest verdicts">
      <Listing
        read={analyses}
        what="The verdicts"
        height="h-24"
        empty={
          <Empty title="No run was judged yet">
            Measured signs work without a model. For verdicts set{" "}
            <code className="font-mono">GUARDIAN_JUDGE_MODEL</code>, such as{" "}
            <code className="font-mono">anthropic:claude-opus-4-8</code>, and start the server again.
          </Empty>
        }
      >
        {(items) =>
          groupBySandbox(items).map(([sandboxId, own]) => (
            <Trajectory key={sandboxId} sandboxId={sandboxId} analyses={own} titles={titles} />
          ))
        }
      </Listing>
    </Section>
  );
}

interface TrajectoryProps {
  readonly sandboxId: string;
  readonly analyses: readonly GuardianAnalysis[];
  readonly titles: Titles;
}

export function Trajectory({ sandboxId, analyses, titles }: TrajectoryProps) {
  const now = useNow();
  const [latest] = analyses;
  if (latest === undefined) return null;
  return (
    <article data-trajectory={sandboxId} className="flex flex-col gap-1.5 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <h3 className="min-w-0 flex-1 basis-64 truncate text-sm">
          <SandboxName id={sandboxId} titles={titles} />
        </h3>
        <ScorePath scores={analyses.map((one) => one.alignment_score).toReversed()} />
        <Score value={latest.alignment_score} label="alignment" isNamed />
        <time className="w-12 text-right text-xs text-ink-3 tabular-nums" dateTime={latest.created_at}>
          {formatAge(now - Date.parse(latest.created_at))}
        </time>
      </div>
      <p className="text-sm text-ink-2">{latest.trajectory_summary}</p>
      {latest.steering_recommendation !== null && (
        <p className="border-l-2 border-mind pl-2.5 text-sm text-ink-2">{latest.steering_recommendation}</p>
      )}
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-3">
        now: {latest.current_focus}
        <span>by {latest.model}</span>
        <Evidence sandboxId={sandboxId} seqs={latest.evidence} />
        <Link
          to="/monitor/guardian/$analysisId"
          params={{ analysisId: latest.id }}
          className="rounded text-live-ink underline underline-offset-2"
        >
          the verdict and what followed
        </Link>
      </p>
    </article>
  );
}

function Interventions({ titles }: { readonly titles: Titles }) {
  const interventions = useQuery(interventionsQuery);
  return (
    <Section title="Interventions">
      <Listing
        read={interventions}
        what="The interventions"
        height="h-24"
        empty={
          <Empty title="The guardian had nothing to say">
            It speaks when a run repeats itself, fails in a row, drifts or waits.
          </Empty>
        }
      >
        {(items) =>
          items.map((intervention) => (
            <InterventionLine key={intervention.id} intervention={intervention} titles={titles} />
          ))
        }
      </Listing>
    </Section>
  );
}
