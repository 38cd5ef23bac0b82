/** Who works here, in which state, and for how long. */
import type { Sandbox } from "@drover/contract";
import { toContextFill, type Load, type LogEvent, type Spent } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { GitPullRequest } from "lucide-react";
import { useMemo } from "react";
import { formatCost, formatCount, formatShort, formatSpan } from "../data/format.ts";
import { toLoadFigures } from "../data/load-figures.ts";
import { useNow } from "../data/now.ts";
import { pricesQuery } from "../data/prices-query.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { cx } from "../ui/class-names.ts";
import { Figure } from "../ui/figure.tsx";
import { Liveness } from "../ui/liveness.tsx";
import { QuietMark } from "../ui/quiet-mark.tsx";
import { StateBadge } from "../ui/state-badge.tsx";
import { UnsafeBadge } from "../ui/unsafe-badge.tsx";
import { WaitMark } from "../ui/wait-mark.tsx";
import { RunActions } from "./run-actions.tsx";
import { RunLinks } from "./run-links.tsx";

interface RunHeaderProps {
  readonly sandbox: Sandbox;
  readonly spent: Spent;
  readonly load: Load | undefined;
  readonly events: readonly LogEvent[];
  readonly mayOperate: boolean;
  readonly isLoadingHistory: boolean;
  readonly loaded: number;
}

export function RunHeader({ sandbox, spent, load, events, mayOperate, isLoadingHistory, loaded }: RunHeaderProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-b border-line px-3 py-2.5 md:px-5">
      <StateBadge state={sandbox.state} />
      <Liveness state={sandbox.state} lastAt={sandbox.last_heartbeat_at} />
      <QuietMark state={sandbox.state} health={sandbox.health} />
      <WaitMark sandbox={sandbox} />
      <UnsafeBadge enforcedBy={sandbox.enforced_by} />
      <h1
        className="order-first w-full min-w-0 truncate text-base font-semibold tracking-tight md:order-none md:w-auto md:min-w-64 md:flex-1"
        title={toTitle(sandbox)}
      >
        {toTitle(sandbox)}
      </h1>
      <div className="flex items-center gap-2 max-md:ml-auto">
        <RunLinks sandbox={sandbox} mayOperate={mayOperate} />
        {mayOperate && <RunActions sandbox={sandbox} />}
      </div>
      <dl className="flex w-full flex-wrap items-center gap-x-4 gap-y-1 text-xs text-ink-3 tabular-nums">
        {sandbox.runtime !== null && (
          <Figure name="by">
            <span title={sandbox.model ?? undefined}>{sandbox.runtime}</span>
          </Figure>
        )}
        <Figure name="on" isMinor>
          <span title={toEnforcers(sandbox)}>{sandbox.provider}</span>
        </Figure>
        <Branch sandbox={sandbox} />
        <Figure name="turn">{sandbox.turn}</Figure>
        <Figure name="events" isMinor>
          {isLoadingHistory && loaded < sandbox.event_count
            ? `${formatCount(loaded)} of ${formatCount(sandbox.event_count)}`
            : formatCount(sandbox.event_count)}
        </Figure>
        <Cost sandbox={sandbox} spent={spent} />
        {spent.calls > 0 && <Context events={events} />}
        {toLoadFigures(sandbox, load).map(({ name, value, title, isHigh }) => (
          <Figure key={name} name={name} isMinor>
            <span title={title} className={cx(isHigh && "text-wait-ink")}>
              {value}
            </span>
          </Figure>
        ))}
        {sandbox.generation > 1 && <Figure name="generation">{sandbox.generation}</Figure>}
        <Figure name="for">
          <Elapsed sandbox={sandbox} />
        </Figure>
      </dl>
    </div>
  );
}

/** What holds it to its limits, as far as that is known. */
const toEnforcers = ({ enforced_by: by }: Sandbox): string | undefined =>
  by === null
    ? undefined
    : Object.entries(by)
        .map(([limit, enforcer]) => `${limit}: ${enforcer === "none" ? "not enforced" : enforcer}`)
        .join(", ");

/** Where its work goes, and the pull request that came of it. */
function Branch({ sandbox: { id, branch, pull_request: pull } }: { readonly sandbox: Sandbox }) {
  if (branch === null) return null;
  return (
    <Figure name="branch">
      <span className="inline-flex max-w-72 items-baseline gap-2">
        <Link
          to="/sandboxes/$sandboxId"
          params={{ sandboxId: id }}
          search={{ tab: "git" }}
          title={branch}
          className="min-w-0 truncate rounded font-mono underline-offset-2 hover:underline"
        >
          {branch}
        </Link>
        {pull !== undefined && pull !== null && (
          <Link
            to="/tasks/pulls/$pullId"
            params={{ pullId: pull.id }}
            className="inline-flex shrink-0 items-center gap-1 self-center rounded text-live-ink underline-offset-2 hover:underline"
          >
            <GitPullRequest size={12} aria-hidden />
            <span className="sr-only">pull request </span>#{pull.number} {pull.state}
          </Link>
        )}
      </span>
    </Figure>
  );
}

/** The record and the log count the same calls; whichever was read later knows more. */
function Cost({ sandbox, spent }: { readonly sandbox: Sandbox; readonly spent: Spent }) {
  const tokens = Math.max(sandbox.tokens.total, spent.inputTokens + spent.outputTokens);
  if (tokens === 0) return null;
  const cost = sandbox.cost_usd === null ? null : Math.max(sandbox.cost_usd, spent.costUsd);
  return (
    <>
      <Figure name="tokens" isMinor>
        <span title={`${formatCount(tokens)} in and out`}>{formatShort(tokens)}</span>
      </Figure>
      <Figure name="cost">
        {cost === null ? "no price" : formatCost(cost)}
        {sandbox.budget_usd !== null && ` of ${formatCost(sandbox.budget_usd)}`}
      </Figure>
    </>
  );
}

const NEARLY_FULL = 0.85;

function Context({ events }: { readonly events: readonly LogEvent[] }) {
  const prices = useQuery(pricesQuery);
  const known = prices.data?.items;
  const fill = useMemo(() => toContextFill(events, known ?? []), [events, known]);
  if (fill === undefined) return null;
  const { tokens, window } = fill;
  return (
    <Figure name="context">
      <span
        title={`${formatCount(tokens)} of the ${formatCount(window)} tokens that the model takes at once`}
        className={cx(tokens >= NEARLY_FULL * window && "text-wait-ink")}
      >
        {formatShort(tokens)} of {formatShort(window)}
      </span>
    </Figure>
  );
}

function Elapsed({ sandbox }: { readonly sandbox: Sandbox }) {
  const now = useNow();
  const end = sandbox.ended_at === null ? now : Date.parse(sandbox.ended_at);
  return formatSpan(end - Date.parse(sandbox.started_at ?? sandbox.created_at));
}
