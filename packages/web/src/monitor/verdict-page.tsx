/** One verdict of the judge: what it says, the events it rests on, how the run stood before and after, and what the guardian's word changed. */
import type { GuardianAnalysis } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { CircleCheck, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { formatAge, formatCount, formatDay, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Section } from "../pages/section.tsx";
import { cx } from "../ui/class-names.ts";
import { Empty } from "../ui/empty.tsx";
import { Listing } from "../ui/listing.tsx";
import { Evidence, SandboxName, useTitles, type Titles } from "./evidence.tsx";
import { InterventionLine } from "./intervention-line.tsx";
import { OneFinding } from "./one-finding.tsx";
import { analysesOfQuery, analysisQuery, interventionsOfQuery, receiptsQuery } from "./queries.ts";
import { ScorePath } from "./score-path.tsx";
import { Score, toWords } from "./words.tsx";

export function VerdictPage() {
  const { analysisId } = useParams({ from: "/inside/monitor/guardian/$analysisId" });
  const analysis = useQuery(analysisQuery(analysisId));
  const titles = useTitles();
  return (
    <OneFinding
      read={analysis}
      noun="verdict"
      title={`Verdict ${analysisId}`}
      back={{ tab: "guardian", label: "Guardian" }}
    >
      {(found) => <Found key={analysisId} analysis={found} titles={titles} />}
    </OneFinding>
  );
}

interface AboutProps {
  readonly analysis: GuardianAnalysis;
  readonly titles: Titles;
}

function Found({ analysis, titles }: AboutProps) {
  const now = useNow();
  return (
    <>
      <header className="flex flex-col gap-2">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <h1 className="flex min-w-0 flex-1 basis-80 flex-wrap items-center gap-x-3 gap-y-1 text-xl font-semibold tracking-tight break-words">
            <SandboxName id={analysis.sandbox_id} titles={titles} /> <Heading isAligned={analysis.trajectory_aligned} />
          </h1>
          <Score value={analysis.alignment_score} label="alignment" isNamed />
        </div>
        <p className="text-xs text-ink-3">
          judged{" "}
          <time dateTime={analysis.created_at} className="tabular-nums">
            {formatDay(analysis.created_at)}
          </time>
          , {formatAge(now - Date.parse(analysis.created_at))} ago, by {analysis.model}
        </p>
      </header>
      <Section title="Verdict">
        <Said analysis={analysis} />
      </Section>
      <Course analysis={analysis} />
      <Effect analysis={analysis} titles={titles} />
    </>
  );
}

/** Where it is heading: icon and word. */
function Heading({ isAligned }: { readonly isAligned: boolean }) {
  const Icon = isAligned ? CircleCheck : TriangleAlert;
  return (
    <span
      className={cx(
        "inline-flex h-6 shrink-0 items-center gap-1.5 rounded-full pr-2.5 pl-2 text-xs font-semibold tracking-normal",
        isAligned ? "bg-live-soft text-live-ink" : "bg-wait-soft text-wait-ink",
      )}
    >
      <Icon size={13} strokeWidth={2.4} aria-hidden /> {isAligned ? "keeps to its goal" : "drifts"}
    </span>
  );
}

function Said({ analysis }: { readonly analysis: GuardianAnalysis }) {
  const { details, steering_recommendation: recommendation, steering_type: type } = analysis;
  const marker = analysis.last_claude_message_marker;
  return (
    <div className="flex flex-col gap-3 px-4 py-3">
      <p className="text-sm break-words">{analysis.trajectory_summary}</p>
      {recommendation !== null && (
        <p data-testid="recommendation" className="border-l-2 border-mind pl-2.5 text-sm break-words text-ink-2">
          {recommendation}
        </p>
      )}
      <dl className="grid gap-x-4 gap-y-1.5 text-xs sm:grid-cols-[8.5rem_1fr]">
        <Term name="evidence">
          <Evidence sandboxId={analysis.sandbox_id} seqs={analysis.evidence} />
        </Term>
        <Term name="focus">{analysis.current_focus}</Term>
        <Term name="steering">
          {analysis.needs_steering ? (type === null ? "needed" : `needed: ${toWords(type)}`) : "not needed"}
        </Term>
        {analysis.accumulated_goal !== null && <Term name="goal by then">{analysis.accumulated_goal}</Term>}
        {details !== null && (
          <>
            <Term name="phase">{details.phase_alignment}</Term>
            <Terms name="limits broken" all={details.constraint_violations} />
            <Terms name="steps missing" all={details.missing_steps} />
            <Terms name="progress" all={details.progress_indicators} />
            <Terms name="risks" all={details.risk_factors} />
          </>
        )}
        {analysis.conversation_length !== null && (
          <Term name="events of the agent">{formatCount(analysis.conversation_length)}</Term>
        )}
        {analysis.session_duration !== null && (
          <Term name="run began">{formatSpan(analysis.session_duration * 1_000)} before</Term>
        )}
        {marker !== null && (
          <Term name="last said">
            <Evidence sandboxId={analysis.sandbox_id} seqs={[marker]} />
          </Term>
        )}
      </dl>
    </div>
  );
}

const Term = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <>
    <dt className="text-ink-3">{name}</dt>
    <dd className="min-w-0 break-words max-sm:mb-1.5">{children}</dd>
  </>
);

const Terms = ({ name, all }: { readonly name: string; readonly all: readonly string[] }) =>
  all.length > 0 && (
    <Term name={name}>
      <ul className="flex flex-col gap-0.5">
        {all.map((one, at) => (
          <li key={at}>{one}</li>
        ))}
      </ul>
    </Term>
  );

/** The verdicts on this run, the newest first, and where among them this one stands. */
function Course({ analysis }: { readonly analysis: GuardianAnalysis }) {
  const now = useNow();
  const analyses = useQuery(analysesOfQuery(analysis.sandbox_id));
  const scores = (analyses.data?.items ?? []).toReversed();
  return (
    <Section
      title="Verdicts on this run"
      action={
        <ScorePath
          scores={scores.map((one) => one.alignment_score)}
          at={scores.findIndex(({ id }) => id === analysis.id)}
        />
      }
    >
      <Listing read={analyses} what="The verdicts" height="h-24">
        {(items) =>
          items.map((one) => (
            <div key={one.id} data-verdict={one.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
              <Link
                to="/monitor/guardian/$analysisId"
                params={{ analysisId: one.id }}
                aria-current={one.id === analysis.id ? "page" : undefined}
                className="min-w-0 flex-1 basis-56 truncate rounded text-sm hover:underline aria-[current=page]:font-semibold"
              >
                {one.trajectory_summary}
              </Link>
              <Score value={one.alignment_score} label="alignment" />
              <time className="w-12 text-right text-xs text-ink-3 tabular-nums" dateTime={one.created_at}>
                {formatAge(now - Date.parse(one.created_at))}
              </time>
            </div>
          ))
        }
      </Listing>
    </Section>
  );
}

/** What was done after it, in its order, how far each word came, and how the run was judged next. */
function Effect({ analysis, titles }: AboutProps) {
  const { sandbox_id: sandboxId, created_at: at } = analysis;
  const isLater = (one: { readonly created_at: string }) => Date.parse(one.created_at) >= Date.parse(at);
  const interventions = useQuery({
    ...interventionsOfQuery(sandboxId),
    select: (page) => ({ items: page.items.filter(isLater).toReversed() }),
  });
  const messages = useQuery(receiptsQuery(sandboxId));
  const analyses = useQuery(analysesOfQuery(sandboxId));
  const records = new Map(messages.data?.items.map((record) => [record.id, record]));
  const next = analyses.data?.items.findLast((one) => one.id !== analysis.id && isLater(one));
  return (
    <Section title="What the intervention changed">
      {next !== undefined && (
        <p data-testid="next-verdict" className="px-4 py-3 text-sm">
          Alignment went from {analysis.alignment_score.toFixed(2)} to {next.alignment_score.toFixed(2)} by the{" "}
          <Link
            to="/monitor/guardian/$analysisId"
            params={{ analysisId: next.id }}
            className="rounded text-live-ink underline underline-offset-2"
          >
            next verdict
          </Link>
          .
        </p>
      )}
      <Listing
        read={interventions}
        what="The interventions"
        height="h-24"
        empty={
          <Empty title="The guardian has not stepped in since">It speaks when a verdict or a sign asks for it.</Empty>
        }
      >
        {(items) =>
          items.map((one) => (
            <InterventionLine
              key={one.id}
              intervention={one}
              titles={titles}
              message={one.message_id === null ? undefined : records.get(one.message_id)}
            />
          ))
        }
      </Listing>
    </Section>
  );
}
