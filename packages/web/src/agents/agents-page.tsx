/** Agents: which are here, which can be, who works now and how they fared lately. */
import type { AgentPackage } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bot } from "lucide-react";
import { formatCost, formatCount } from "../data/format.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { Section } from "../pages/section.tsx";
import { Liveness } from "../ui/liveness.tsx";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { BUILT_IN } from "./built-in.ts";
import { PackageState, RemovePackage } from "./package-state.tsx";
import { packagesQuery } from "./queries.ts";
import { isAtWork, LATELY, latelyQuery, toRecords, type AgentRecord } from "./runs-of-agents.ts";
import { OutcomeStrip } from "./outcome-strip.tsx";

/** As many as a line has room for. */
const STRIP = 12;

export function AgentsPage() {
  const packages = useQuery(packagesQuery);
  const lately = useQuery({ ...latelyQuery, select: (page) => toRecords(page.items) });
  const known = new Set<string>([...(packages.data?.items ?? []), ...BUILT_IN].map(({ name }) => name));
  const others = [...(lately.data ?? [])].filter(([name]) => !known.has(name) && packages.data !== undefined);
  return (
    <Page title="Agents" width="middle">
      {packages.isError && (
        <Problem error={packages.error} what="The agents could not be read" onRetry={() => void packages.refetch()} />
      )}
      <Section title="Installed on demand">
        {packages.isPending && <div className="skeleton m-4 h-40" />}
        {packages.data?.items.map((item) => (
          <PackageLine key={item.name} item={item} record={lately.data?.get(item.name)} />
        ))}
      </Section>
      <Section title="Built in">
        {BUILT_IN.map(({ name, title, note }) => (
          <AgentLine key={name} name={name} title={title} note={note} record={lately.data?.get(name)} />
        ))}
        {others.map(([name, record]) => (
          <AgentLine key={name} name={name} title={name} note="A worker that somebody brought along." record={record} />
        ))}
      </Section>
      <p className="text-xs text-ink-3">Figures are of the newest {formatCount(LATELY)} sandboxes.</p>
    </Page>
  );
}

function PackageLine({ item, record }: { readonly item: AgentPackage; readonly record: AgentRecord | undefined }) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3" data-package={item.name}>
      <Bot size={18} aria-hidden className="shrink-0 text-ink-3" />
      <div className="min-w-0 flex-1 basis-48">
        <AgentName name={item.name} title={item.title} />
        <p className="truncate text-xs text-ink-3">
          <code className="font-mono">
            {item.npm_package}@{item.version}
          </code>
          {item.other_versions.length > 0 && ` · also ${item.other_versions.join(", ")}`}
        </p>
        {item.state === "failed" && item.detail !== null && (
          <p className="mt-1 text-xs break-words text-fail-ink">{item.detail}</p>
        )}
      </div>
      <Fared record={record} />
      <div className="flex min-w-32 items-center gap-2 md:justify-end">
        <PackageState item={item} />
        <RemovePackage item={item} />
      </div>
    </div>
  );
}

interface AgentLineProps {
  readonly name: string;
  readonly title: string;
  readonly note: string;
  readonly record: AgentRecord | undefined;
}

function AgentLine({ name, title, note, record }: AgentLineProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3" data-agent={name}>
      <Bot size={18} aria-hidden className="shrink-0 text-ink-3" />
      <div className="min-w-0 flex-1 basis-48">
        <AgentName name={name} title={title} />
        <p className="text-xs text-ink-3">{note}</p>
      </div>
      <Fared record={record} />
      {record !== undefined && <span className="w-32 max-md:hidden" />}
    </div>
  );
}

const AgentName = ({ name, title }: { readonly name: string; readonly title: string }) => (
  <p className="text-sm font-medium">
    <Link to="/agents/$agentName" params={{ agentName: name }} className="rounded hover:underline">
      {title}
    </Link>
  </p>
);

function Fared({ record }: { readonly record: AgentRecord | undefined }) {
  if (record === undefined) return null;
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-xs text-ink-3 tabular-nums">
      <AtWork record={record} />
      <span className="flex w-16 justify-end max-md:w-auto">
        <OutcomeStrip runs={record.runs} most={STRIP} />
      </span>
      <span className="w-18 text-right max-md:w-auto">
        {record.success !== null && `${Math.round(record.success * 100)} % well`}
      </span>
      <span className="w-14 text-right max-md:w-auto">{record.costUsd > 0 && formatCost(record.costUsd)}</span>
    </div>
  );
}

/** The run it works in, with its heartbeat; how many, where there are several. */
function AtWork({ record }: { readonly record: AgentRecord }) {
  const run = record.runs.find(isAtWork);
  if (run === undefined) return null;
  return (
    <span className="inline-flex min-w-0 items-center gap-2">
      <Link
        to="/sandboxes/$sandboxId"
        params={{ sandboxId: run.id }}
        className="max-w-44 truncate rounded font-medium text-live-ink hover:underline"
      >
        {record.working > 1 ? `${formatCount(record.working)} at work: ` : ""}
        {toTitle(run)}
      </Link>
      <Liveness state={run.state} lastAt={run.last_heartbeat_at} />
    </span>
  );
}
