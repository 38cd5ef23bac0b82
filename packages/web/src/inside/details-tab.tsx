/** How a sandbox was made, what limits it and who holds it to that, what its way out allowed, and its worker's own log. */
import type { LogEvent } from "@drover/client";
import { API_BASE, type Sandbox } from "@drover/contract";
import { readNumber, readText } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { ArrowDownToLine, CircleCheck, CircleX, LoaderCircle, ShieldCheck, ShieldX } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { formatClock, formatCount, formatDay, formatDuration } from "../data/format.ts";
import { useMay } from "../data/use-may.ts";
import { Output } from "../feed/output.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";
import { UnsafeBadge } from "../ui/unsafe-badge.tsx";
import { logsQuery } from "./queries.ts";

interface DetailsTabProps {
  readonly sandbox: Sandbox;
  readonly events: readonly LogEvent[];
}

export function DetailsTab({ sandbox, events }: DetailsTabProps) {
  const mayOperate = useMay("operate");
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Details">
      <div className="mx-auto grid max-w-5xl gap-x-8 gap-y-7 px-4 py-5 md:px-6 lg:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-7">
          <Part title="How it was made">
            <Steps events={events} sandbox={sandbox} />
          </Part>
          <Part title="Asked for">
            <Facts sandbox={sandbox} />
          </Part>
        </div>
        <div className="flex min-w-0 flex-col gap-7">
          <Part title="Limits, and what enforces them" badge={<UnsafeBadge enforcedBy={sandbox.enforced_by} />}>
            <Limits sandbox={sandbox} />
          </Part>
          <Part title="Network">
            <Egress sandbox={sandbox} events={events} />
          </Part>
        </div>
        {sandbox.prompt !== null && (
          <Part title="Prompt" isWide>
            <p className="max-h-80 overflow-y-auto px-4 py-3 text-sm break-words whitespace-pre-wrap" tabIndex={0}>
              {sandbox.prompt}
            </p>
          </Part>
        )}
        {mayOperate && (
          <Part title="Export" isWide>
            <Archive sandboxId={sandbox.id} />
          </Part>
        )}
        <Part title="Worker's log" isWide>
          <WorkersLog sandboxId={sandbox.id} isOurs={sandbox.provider !== "external"} />
        </Part>
      </div>
    </div>
  );
}

interface PartProps {
  readonly title: string;
  readonly badge?: ReactNode;
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

function Part({ title, badge, isWide = false, children }: PartProps) {
  return (
    <section className={cx("min-w-0", isWide && "lg:col-span-2")}>
      <div className="mb-2 flex min-h-6 items-center gap-3">
        <h2 className="text-sm font-semibold tracking-tight">{title}</h2>
        {badge}
      </div>
      <div className="overflow-hidden rounded-xl border border-line bg-surface">{children}</div>
    </section>
  );
}

const Nothing = ({ children }: { readonly children: ReactNode }) => (
  <p className="px-4 py-3 text-xs text-ink-3">{children}</p>
);

const STEPS: Readonly<Record<string, string>> = {
  environment: "Sandbox made",
  repository: "Repository checked out",
  agent: "Agent's package mounted",
  worker: "Worker started",
};

function Steps({ sandbox, events }: DetailsTabProps) {
  const steps = useMemo(
    () => events.filter((event) => event.event_type === "sandbox.provisioning").map((event) => event.event_data),
    [events],
  );
  if (sandbox.provider === "external") return <Nothing>Made elsewhere: somebody starts its worker by hand.</Nothing>;
  if (steps.length === 0) return <Nothing>Nothing yet.</Nothing>;
  return (
    <ol className="divide-y divide-line">
      {steps.map((step, at) => {
        const name = readText(step, "step") ?? "step";
        const status = readText(step, "status");
        const took = readNumber(step, "duration_ms");
        const failed = status === "failed";
        const Icon = failed ? CircleX : status === "done" ? CircleCheck : LoaderCircle;
        return (
          <li key={at} className="flex items-start gap-2.5 px-4 py-2 text-sm">
            <Icon
              size={15}
              aria-label={status ?? "running"}
              className={cx(
                "mt-0.75 shrink-0",
                failed ? "text-fail-ink" : status === "done" ? "text-live" : "text-wait-ink",
              )}
            />
            <span className="min-w-0 flex-1 break-words">
              {STEPS[name] ?? name}
              {failed && <span className="block text-xs text-fail-ink">{readText(step, "error")}</span>}
            </span>
            {took !== null && <span className="text-xs text-ink-3 tabular-nums">{formatDuration(took)}</span>}
          </li>
        );
      })}
    </ol>
  );
}

const ENFORCED = ["memory", "cpu", "disk", "processes", "network", "isolation"] as const;
const SOURCES = ["snapshot", "image"] as const;
const isSource = (name: string) => SOURCES.some((source) => source === name);
const LAX: ReadonlySet<string> = new Set(["none", "unsafe"]);

function Limits({ sandbox: { resources, enforced_by: by } }: { readonly sandbox: Sandbox }) {
  const values: Readonly<Record<string, { readonly value: string; readonly origin: string } | undefined>> =
    resources === null
      ? {}
      : {
          memory: { value: `${resources.memory_gb.value} GiB`, origin: resources.memory_gb.origin },
          cpu: { value: `${resources.cpu.value} cores`, origin: resources.cpu.origin },
          disk: { value: `${resources.disk_gb.value} GiB`, origin: resources.disk_gb.origin },
          snapshot: resources.snapshot ?? undefined,
          image: resources.image ?? undefined,
        };
  const shown = [...ENFORCED, ...SOURCES].filter((name) => values[name] !== undefined || by?.[name] !== undefined);
  if (shown.length === 0) return <Nothing>Drover did not make this sandbox and limits nothing in it.</Nothing>;
  return (
    <table className="w-full text-xs">
      <thead>
        <tr className="border-b border-line text-left text-ink-3">
          <th className="px-4 py-1.5 font-medium">Limit</th>
          <th className="py-1.5 pr-3 font-medium">Value</th>
          <th className="py-1.5 pr-3 font-medium">From</th>
          <th className="py-1.5 pr-4 font-medium">Enforced by</th>
        </tr>
      </thead>
      <tbody className="divide-y divide-line">
        {shown.map((name) => {
          const enforcer = by?.[name];
          return (
            <tr key={name}>
              <th scope="row" className="px-4 py-2 text-left font-medium">
                {name}
              </th>
              <td className="py-2 pr-3 font-mono">{values[name]?.value ?? "–"}</td>
              <td className="py-2 pr-3 text-ink-3">{values[name]?.origin ?? ""}</td>
              <td className={cx("py-2 pr-4 font-mono", enforcer !== undefined && LAX.has(enforcer) && "text-fail-ink")}>
                {isSource(name)
                  ? ""
                  : enforcer === undefined
                    ? "not known yet"
                    : enforcer === "none"
                      ? "nothing"
                      : enforcer}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Facts({ sandbox }: { readonly sandbox: Sandbox }) {
  const facts: readonly (readonly [string, string | null])[] = [
    ["id", sandbox.id],
    ["provider", sandbox.provider],
    ["at the provider", sandbox.provider_id],
    ["runtime", sandbox.runtime],
    ["model", sandbox.model],
    ["repository", sandbox.repo],
    ["base branch", sandbox.base_branch],
    ["branch", sandbox.branch],
    ["network", sandbox.provider === "external" ? null : sandbox.network],
    ["generation", formatCount(sandbox.generation)],
    ["created", formatDay(sandbox.created_at)],
    ["started", sandbox.started_at === null ? null : formatDay(sandbox.started_at)],
    ["ended", sandbox.ended_at === null ? null : formatDay(sandbox.ended_at)],
    ["cause", sandbox.state_cause],
    ...Object.entries(sandbox.labels).map(([name, value]) => [`label ${name}`, value] as const),
  ];
  return (
    <dl className="grid grid-cols-[8.5rem_1fr] gap-y-1.5 px-4 py-3 text-xs">
      {facts.map(([name, value]) =>
        value === null ? null : (
          <div key={name} className="contents">
            <dt className="truncate pr-3 text-ink-3">{name}</dt>
            <dd className="font-mono break-all">{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

const EGRESS_SHOWN = 30;

const WAYS: Readonly<Record<string, string>> = {
  none: "No way out: nothing but Drover's own sockets.",
  allowlist: "Only what is on the list: the Git endpoint, the gateway, this machine's package registries.",
  open: "Everything but loopback, private and metadata addresses.",
};

function Egress({ sandbox, events }: DetailsTabProps) {
  const told = useMemo(
    () =>
      events
        .filter((event) => event.event_type === "sandbox.egress")
        .slice(-EGRESS_SHOWN)
        .toReversed(),
    [events],
  );
  if (sandbox.provider === "external") return <Nothing>Not Drover's to decide.</Nothing>;
  return (
    <>
      <Nothing>
        <span className="font-mono text-ink-2">{sandbox.network}</span> · {WAYS[sandbox.network] ?? ""}
      </Nothing>
      {told.length > 0 && (
        <ul
          className="max-h-60 divide-y divide-line overflow-y-auto border-t border-line"
          tabIndex={0}
          aria-label="Decisions of the way out"
        >
          {told.map((event) => {
            const isAllowed = readText(event.event_data, "decision") === "allowed";
            const Icon = isAllowed ? ShieldCheck : ShieldX;
            return (
              <li key={event.id} className="flex items-center gap-2 px-4 py-1.5 font-mono text-xs">
                <Icon
                  size={13}
                  aria-label={isAllowed ? "allowed" : "refused"}
                  className={cx("shrink-0", isAllowed ? "text-live-ink" : "text-fail-ink")}
                />
                <span className="min-w-0 flex-1 truncate">
                  {readText(event.event_data, "host", "address") ?? "?"}:{readNumber(event.event_data, "port") ?? ""}
                </span>
                <span className="truncate text-2xs text-ink-3">{readText(event.event_data, "reason")}</span>
                <time className="shrink-0 text-2xs text-ink-3">{formatClock(event.created_at)}</time>
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}

/** The browser itself reads it, however long it is. */
const Archive = ({ sandboxId }: { readonly sandboxId: string }) => (
  <div className="grid grid-cols-[1fr_auto] items-center gap-x-4 gap-y-3 px-4 py-3 max-md:grid-cols-1">
    <p className="text-xs text-pretty text-ink-2">
      One file with the log, everything said, every diff, the artifacts and the workspace: for another server, a
      colleague, or later. Secrets are masked.
    </p>
    <a
      href={`${API_BASE}/sandboxes/${encodeURIComponent(sandboxId)}/archive`}
      download={`${sandboxId}.drover.tar`}
      className="inline-flex h-7 items-center justify-center gap-1.5 rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover max-md:h-11"
    >
      <ArrowDownToLine size={13} aria-hidden /> Download archive
    </a>
    <p className="text-xs text-pretty text-ink-2">
      Or one page that any browser shows without a server: every moment of the run, its feed, commands and diffs.
      Secrets are masked.
    </p>
    <a
      href={`${API_BASE}/sandboxes/${encodeURIComponent(sandboxId)}/run-file`}
      download={`${sandboxId}.drover.html`}
      className="inline-flex h-7 items-center justify-center gap-1.5 rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover max-md:h-11"
    >
      <ArrowDownToLine size={13} aria-hidden /> Download page
    </a>
  </div>
);

function WorkersLog({ sandboxId, isOurs }: { readonly sandboxId: string; readonly isOurs: boolean }) {
  const [isWanted, setWanted] = useState(false);
  const log = useQuery({ ...logsQuery(sandboxId), enabled: isWanted });
  if (!isOurs) return <Nothing>It stays where the worker runs.</Nothing>;
  return (
    <div className="px-4 py-3">
      <Button size="small" onClick={() => (isWanted ? void log.refetch() : setWanted(true))}>
        {isWanted ? "Read again" : "Read the log"}
      </Button>
      {log.isError && (
        <div className="mt-3">
          <Problem error={log.error} what="The log could not be read" onRetry={() => void log.refetch()} />
        </div>
      )}
      {log.data !== undefined && (
        <>
          {log.data.text === "" && <p className="mt-2 text-xs text-ink-3">The worker has written nothing.</p>}
          <Output text={log.data.text} label="Worker's log" isOpen previewLines={12} />
        </>
      )}
    </div>
  );
}
