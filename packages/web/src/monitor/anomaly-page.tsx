/** One anomaly: what makes it, who has seen it, and what else became of that run around it. */
import type { Anomaly } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { formatAge, formatDay, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Section } from "../pages/section.tsx";
import { Empty } from "../ui/empty.tsx";
import { Listing } from "../ui/listing.tsx";
import { ANOMALY_PARTS, AnomalyLine, Seen, useAcknowledgeKey } from "./anomaly-line.tsx";
import { ActOnRun } from "./act-on-run.tsx";
import { SandboxName, useTitles, type Titles } from "./evidence.tsx";
import { InterventionLine } from "./intervention-line.tsx";
import { OneFinding } from "./one-finding.tsx";
import { anomaliesOfQuery, anomalyQuery, interventionsOfQuery } from "./queries.ts";
import { Score, SeverityBadge } from "./words.tsx";

/** Before and after. */
const AROUND_MS = 30 * 60_000;

const MEANINGS: Readonly<Record<(typeof ANOMALY_PARTS)[number], string>> = {
  latency: "its calls take longer",
  errors: "more of its calls fail",
  resources: "it uses more tokens",
  queue: "more tasks wait for it",
};

export function AnomalyPage() {
  const { anomalyId } = useParams({ from: "/inside/monitor/anomalies/$anomalyId" });
  const anomaly = useQuery(anomalyQuery(anomalyId));
  const titles = useTitles();
  return (
    <OneFinding
      read={anomaly}
      noun="anomaly"
      title={`Anomaly ${anomalyId}`}
      back={{ tab: "anomalies", label: "Anomalies" }}
    >
      {(found) => <Found key={anomalyId} anomaly={found} titles={titles} />}
    </OneFinding>
  );
}

interface AboutProps {
  readonly anomaly: Anomaly;
  readonly titles: Titles;
}

function Found({ anomaly, titles }: AboutProps) {
  const now = useNow();
  useAcknowledgeKey("[data-found]");
  return (
    <>
      <header data-found className="flex flex-col gap-2">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <h1 className="min-w-0 flex-1 basis-80 text-xl font-semibold tracking-tight break-words">
            <SandboxName id={anomaly.sandbox_id} titles={titles} /> stands out
          </h1>
          <SeverityBadge severity={anomaly.severity} />
          <ActOnRun sandboxId={anomaly.sandbox_id} />
          <Seen anomaly={anomaly} />
        </div>
        <p className="text-xs text-ink-3">
          found{" "}
          <time dateTime={anomaly.created_at} className="tabular-nums">
            {formatDay(anomaly.created_at)}
          </time>
          , {formatAge(now - Date.parse(anomaly.created_at))} ago, in {plural(anomaly.readings, "reading")} in a row
          {anomaly.acknowledged_at !== null && `; seen ${formatDay(anomaly.acknowledged_at)}`}
        </p>
      </header>
      <Section title="What makes the score">
        <dl data-testid="parts">
          <Part name="score" meaning="all of it together" value={anomaly.score} />
          {ANOMALY_PARTS.map((part) => (
            <Part key={part} name={part} meaning={MEANINGS[part]} value={anomaly.parts[part]} />
          ))}
        </dl>
      </Section>
      <Interventions anomaly={anomaly} titles={titles} />
      <Others anomaly={anomaly} titles={titles} />
    </>
  );
}

interface PartProps {
  readonly name: string;
  readonly meaning: string;
  readonly value: number;
}

const Part = ({ name, meaning, value }: PartProps) => (
  <div data-part={name} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 first:pt-3 last:pb-3">
    <dt className="min-w-0 flex-1 basis-40 text-sm">
      {name} <span className="text-xs text-ink-3">{meaning}</span>
    </dt>
    <dd>
      <Score value={value} label={name} isTrouble />
    </dd>
  </div>
);

function Interventions({ anomaly, titles }: AboutProps) {
  const foundMs = Date.parse(anomaly.created_at);
  const interventions = useQuery({
    ...interventionsOfQuery(anomaly.sandbox_id),
    select: (page) => ({
      items: page.items.filter((one) => Math.abs(Date.parse(one.created_at) - foundMs) <= AROUND_MS),
    }),
  });
  return (
    <Section title="Interventions around it">
      <Listing
        read={interventions}
        what="The interventions"
        height="h-24"
        empty={
          <Empty title="The guardian did nothing">
            Neither in the half hour before this was found nor in the one after.
          </Empty>
        }
      >
        {(items) => items.map((one) => <InterventionLine key={one.id} intervention={one} titles={titles} />)}
      </Listing>
    </Section>
  );
}

function Others({ anomaly, titles }: AboutProps) {
  const others = useQuery({
    ...anomaliesOfQuery(anomaly.sandbox_id),
    select: (page) => ({ items: page.items.filter(({ id }) => id !== anomaly.id) }),
  });
  return (
    <Section title="Other anomalies of this run">
      <Listing read={others} what="The anomalies" height="h-24" empty={<Empty title="It stood out only this once" />}>
        {(items) => items.map((one) => <AnomalyLine key={one.id} anomaly={one} titles={titles} />)}
      </Listing>
    </Section>
  );
}
