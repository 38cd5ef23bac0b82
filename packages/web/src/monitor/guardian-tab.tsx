/** The guardian: where each run is heading, by a judge that must name its evidence, and what was done about it. */
import type { GuardianAnalysis, Intervention } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { MessageCircleReply } from "lucide-react";
import { formatAge, formatDay } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Section } from "../pages/section.tsx";
import { Listing } from "../ui/listing.tsx";
import { Empty } from "../ui/empty.tsx";
import { Evidence, SandboxName, useTitles } from "./evidence.tsx";
import { analysesQuery, interventionsQuery } from "./queries.ts";
import { OutcomeWord, RungBadge, Score, toWords } from "./words.tsx";

type Titles = ReadonlyMap<string, string>;

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
const groupBySandbox = (items: readonly GuardianAnalysis[]) => [
  ...Map.groupBy(items, (item) => item.sandbox_id as string),
];

function Trajectories({ titles }: { readonly titles: Titles }) {
  const analyses = useQuery(analysesQuery);
  return (
    <Section title="Trajectories">
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

function Trajectory({ sandboxId, analyses, titles }: TrajectoryProps) {
  const now = useNow();
  const [latest] = analyses;
  if (latest === undefined) return null;
  return (
    <article data-trajectory={sandboxId} className="flex flex-col gap-1.5 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <h3 className="min-w-0 flex-1 basis-64 truncate text-sm">
          <SandboxName id={sandboxId} titles={titles} />
        </h3>
        <Path scores={analyses.map((one) => one.alignment_score).toReversed()} />
        <Score value={latest.alignment_score} label="alignment" />
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
      </p>
    </article>
  );
}

/** How the score went, oldest first. */
function Path({ scores }: { readonly scores: readonly number[] }) {
  if (scores.length < 2) return null;
  const step = 72 / (scores.length - 1);
  const points = scores.map((score, at) => `${(at * step).toFixed(1)},${(17 - score * 16).toFixed(1)}`).join(" ");
  return (
    <svg width={74} height={18} role="img" aria-label={`${scores.length} verdicts, from ${scores[0]?.toFixed(2)}`}>
      <polyline points={points} fill="none" strokeWidth={1.5} className="stroke-mind" />
    </svg>
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

function InterventionLine({ intervention, titles }: { readonly intervention: Intervention; readonly titles: Titles }) {
  const now = useNow();
  const { sandbox_id: sandboxId, injected_seq: injected } = intervention;
  return (
    <article data-intervention={intervention.id} className="flex flex-col gap-1.5 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <RungBadge rung={intervention.rung} />
        <h3 className="min-w-0 flex-1 basis-48 truncate text-sm">
          <SandboxName id={sandboxId} titles={titles} />
        </h3>
        <OutcomeWord outcome={intervention.outcome} />
        <time
          className="w-12 text-right text-xs text-ink-3 tabular-nums"
          dateTime={intervention.created_at}
          title={formatDay(intervention.created_at)}
        >
          {formatAge(now - Date.parse(intervention.created_at))}
        </time>
      </div>
      <p className="text-sm break-words text-ink-2">{intervention.reason}</p>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-3">
        {toWords(intervention.signal)}
        <Evidence sandboxId={sandboxId} seqs={intervention.seqs} />
        {injected !== null && (
          <Link
            to="/sandboxes/$sandboxId"
            params={{ sandboxId }}
            search={{ seq: injected }}
            className="inline-flex items-center gap-1 text-live-ink underline underline-offset-2"
          >
            <MessageCircleReply size={13} aria-hidden /> told the agent
          </Link>
        )}
        {intervention.mode === "shadow" && <span>only noted: shadow mode</span>}
      </p>
    </article>
  );
}
