/** One agent: how its runs went, what they cost and took, who works now, and how their workers beat. */
import type { Sandbox } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { formatAge, formatCost, formatCount, formatShort, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { useMay } from "../data/use-may.ts";
import { AnomalyLine } from "../monitor/anomaly-line.tsx";
import { anomaliesQuery } from "../monitor/queries.ts";
import { Section } from "../pages/section.tsx";
import { AGENT_TABS, parseAgentSearch, type AgentTab } from "../search-params.ts";
import { Empty } from "../ui/empty.tsx";
import { Liveness } from "../ui/liveness.tsx";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { StateBadge } from "../ui/state-badge.tsx";
import { AgentConfig } from "./agent-config.tsx";
import { HeartbeatStrip } from "./heartbeat-strip.tsx";
import { OutcomeStrip } from "./outcome-strip.tsx";
import { PackageState, RemovePackage } from "./package-state.tsx";
import { packagesQuery } from "./queries.ts";
import { isAtWork, LATELY, latelyQuery, toRecord } from "./runs-of-agents.ts";

const SHOWN = 50;
const SHOWN_AT_FIRST = 6;
const STRIP = 60;

const TABS: Readonly<Record<AgentTab, string>> = {
  overview: "Overview",
  health: "Health",
  runs: "Runs",
  config: "Configuration",
};

export function AgentPage() {
  const { agentName } = useParams({ from: "/inside/agents/$agentName" });
  const packages = useQuery(packagesQuery);
  const lately = useQuery({
    ...latelyQuery,
    select: (page) => toRecord(page.items.filter(({ runtime }) => (runtime ?? "external") === agentName)),
  });
  const { tab = "overview" } = parseAgentSearch(useSearch({ from: "/inside/agents/$agentName" }));
  const item = packages.data?.items.find(({ name }) => name === agentName);
  const title = item?.title ?? agentName;
  const record = lately.data;
  return (
    <Page title={title} width="middle" back={{ to: "/agents", label: "Agents" }}>
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h1 className="min-w-0 flex-1 basis-60 text-xl font-semibold tracking-tight">{title}</h1>
        {item !== undefined && (
          <>
            <code className="font-mono text-xs wrap-anywhere text-ink-3">
              {item.npm_package}@{item.version}
            </code>
            <PackageState item={item} />
            <RemovePackage item={item} />
          </>
        )}
      </header>
      <nav aria-label="About this agent" className="-mb-2 flex gap-1 overflow-x-auto">
        {AGENT_TABS.map((name) => (
          <Link
            key={name}
            to="/agents/$agentName"
            params={{ agentName }}
            search={name === "overview" ? {} : { tab: name }}
            activeOptions={{ exact: true }}
            aria-current={name === tab ? "page" : undefined}
            className="inline-flex h-8 shrink-0 items-center rounded-full px-3 text-xs font-medium text-ink-2 hover:bg-hover aria-[current=page]:bg-solid aria-[current=page]:text-on-solid max-md:h-11"
          >
            {TABS[name]}
          </Link>
        ))}
      </nav>
      {lately.isError && (
        <Problem error={lately.error} what="Its runs could not be read" onRetry={() => void lately.refetch()} />
      )}
      {record === undefined && !lately.isError && <div className="skeleton h-64" />}
      {tab === "config" && <AgentConfig agentName={agentName} item={item} />}
      {record !== undefined && tab === "overview" && (
        <>
          <dl className="grid grid-cols-2 gap-x-8 gap-y-4 sm:grid-cols-5">
            <Figure name="at work" value={formatCount(record.working)} />
            <Figure
              name="of ended runs went well"
              value={record.success === null ? "—" : `${Math.round(record.success * 100)}%`}
            />
            <Figure name="failed" value={formatCount(record.failed)} />
            <Figure name="median time of a run" value={record.medianMs === null ? "—" : formatSpan(record.medianMs)} />
            <Figure name={`for ${formatShort(record.tokens)} tokens`} value={formatCost(record.costUsd)} />
          </dl>
          {record.runs.length > 1 && (
            <div className="flex items-center gap-3">
              <span className="text-xs text-ink-3">How the last runs ended, the newest at the right</span>
              <OutcomeStrip runs={record.runs} most={STRIP} />
            </div>
          )}
          <HeartbeatStrip agentName={agentName} />
          <Runs runs={record.runs} most={SHOWN_AT_FIRST} />
        </>
      )}
      {record !== undefined && tab === "health" && (
        <>
          <HeartbeatStrip agentName={agentName} />
          <Runs runs={record.runs.filter(isAtWork)} most={SHOWN} title="At work" isQuiet />
          <Anomalies runs={record.runs} />
        </>
      )}
      {record !== undefined && tab === "runs" && <Runs runs={record.runs} most={SHOWN} />}
      {record !== undefined && tab !== "config" && (
        <p className="text-xs text-ink-3">Figures are of the newest {formatCount(LATELY)} sandboxes.</p>
      )}
    </Page>
  );
}

interface RunsProps {
  readonly runs: readonly Sandbox[];
  readonly most: number;
  readonly title?: string;
  /** Where none is, nothing has to be done about it. */
  readonly isQuiet?: boolean;
}

function Runs({ runs, most, title = "Runs", isQuiet = false }: RunsProps) {
  const now = useNow();
  const mayOperate = useMay("operate");
  return (
    <Section title={title}>
      {runs.length === 0 && (
        <Empty
          title={isQuiet ? "Nobody works now" : "It has not worked yet"}
          action={
            mayOperate &&
            !isQuiet && (
              <Link to="/sandboxes/new" className="text-sm font-medium text-live-ink underline underline-offset-2">
                Give it something to do
              </Link>
            )
          }
        />
      )}
      {runs.slice(0, most).map((run) => (
        <div key={run.id} className="flex items-center gap-x-4 px-4 py-2">
          <StateBadge state={run.state} />
          <Link
            to="/sandboxes/$sandboxId"
            params={{ sandboxId: run.id }}
            className="min-w-0 flex-1 truncate rounded text-sm hover:underline"
          >
            {toTitle(run)}
          </Link>
          <Liveness state={run.state} lastAt={run.last_heartbeat_at} />
          <span className="hidden w-16 text-right text-xs text-ink-3 tabular-nums sm:inline">
            {run.tokens.total === 0 ? "" : run.cost_usd === null ? "no price" : formatCost(run.cost_usd)}
          </span>
          <time className="w-10 text-right text-xs text-ink-3 tabular-nums" dateTime={run.created_at}>
            {formatAge(now - Date.parse(run.created_at))}
          </time>
        </div>
      ))}
      {runs.length > most && (
        <p className="px-4 py-2 text-xs text-ink-3">
          The newest {formatCount(most)} of {formatCount(runs.length)}
        </p>
      )}
    </Section>
  );
}

const Figure = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div className="flex flex-col-reverse">
    <dt className="text-xs text-ink-3">{name}</dt>
    <dd className="text-2xl font-semibold tracking-tight tabular-nums">{value}</dd>
  </div>
);

/** When its runs stood out from the others. */
function Anomalies({ runs }: { readonly runs: readonly Sandbox[] }) {
  const anomalies = useQuery(anomaliesQuery);
  const titles = useMemo(() => new Map<string, string>(runs.map((run) => [run.id, toTitle(run)])), [runs]);
  const own = anomalies.data?.items.filter((anomaly) => titles.has(anomaly.sandbox_id)) ?? [];
  return (
    <Section title="Anomalies of the last seven days">
      {anomalies.isError && (
        <Problem
          error={anomalies.error}
          what="The anomalies could not be read"
          onRetry={() => void anomalies.refetch()}
        />
      )}
      {anomalies.isPending && <div className="skeleton m-4 h-16" role="status" aria-label="Loading anomalies" />}
      {anomalies.isSuccess && own.length === 0 && <Empty title="None of its runs stood out" />}
      {own.map((anomaly) => (
        <AnomalyLine key={anomaly.id} anomaly={anomaly} titles={titles} />
      ))}
    </Section>
  );
}
