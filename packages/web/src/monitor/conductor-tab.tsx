/** The conductor: how the running agents stand together, and who does the work of another. */
import type { ConductorAnalysis } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Copy, Lightbulb } from "lucide-react";
import { formatAge, formatDay, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Section } from "../pages/section.tsx";
import { Listing } from "../ui/listing.tsx";
import { Chart } from "../ui/chart.tsx";
import { Empty } from "../ui/empty.tsx";
import { SandboxName, useTitles } from "./evidence.tsx";
import { conductorQuery } from "./queries.ts";
import { Score, toWords } from "./words.tsx";

export function ConductorTab() {
  const titles = useTitles();
  const analyses = useQuery(conductorQuery);
  const items = analyses.data?.items ?? [];
  const points = items.map((one) => ({ at: one.created_at, value: one.coherence_score })).toReversed();
  return (
    <>
      {points.length > 1 && (
        <Chart title="Coherence" tone="mind" most={1} points={points} format={(value) => value.toFixed(2)} />
      )}
      <Section title="Analyses">
        <Listing
          read={analyses}
          what="The analyses"
          height="h-24"
          empty={
            <Empty title="Nothing to conduct yet">Every five minutes the running agents are looked at together.</Empty>
          }
        >
          {(items) => items.map((analysis) => <Analysis key={analysis.id} analysis={analysis} titles={titles} />)}
        </Listing>
      </Section>
    </>
  );
}

interface AnalysisProps {
  readonly analysis: ConductorAnalysis;
  readonly titles: ReadonlyMap<string, string>;
}

function Analysis({ analysis, titles }: AnalysisProps) {
  const now = useNow();
  return (
    <article className="flex flex-col gap-2 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
        <h3 className="flex-1 font-medium">
          {plural(analysis.num_agents, "agent")}
          {analysis.system_status !== "unknown" && `, ${toWords(analysis.system_status)}`}
        </h3>
        {analysis.coherence_score === null ? (
          <span className="text-xs text-ink-3">nobody was judged</span>
        ) : (
          <Score value={analysis.coherence_score} label="coherence" isNamed />
        )}
        <time
          className="w-12 text-right text-xs text-ink-3 tabular-nums"
          dateTime={analysis.created_at}
          title={formatDay(analysis.created_at)}
        >
          {formatAge(now - Date.parse(analysis.created_at))}
        </time>
      </div>
      {analysis.duplicates.map((pair) => (
        <p key={`${pair.a}${pair.b}`} className="flex flex-wrap items-center gap-x-2 text-sm text-wait-ink">
          <Copy size={13} aria-hidden />
          <SandboxName id={pair.a} titles={titles} /> and <SandboxName id={pair.b} titles={titles} /> do much the same (
          {pair.similarity.toFixed(2)})
          {pair.files.length > 0 && <code className="font-mono text-xs">{pair.files.slice(0, 4).join(", ")}</code>}
        </p>
      ))}
      {analysis.recommendations.map((text) => (
        <p key={text} className="flex items-start gap-2 text-sm text-ink-2">
          <Lightbulb size={14} aria-hidden className="mt-0.5 shrink-0 text-ink-3" /> {text}
        </p>
      ))}
    </article>
  );
}
