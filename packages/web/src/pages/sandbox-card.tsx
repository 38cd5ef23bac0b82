/** A sandbox as a live card: being made, at work, or just over. */
import type { Sandbox } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { memo } from "react";
import {
  BEATS_KEPT,
  joinMoves,
  LINES_KEPT,
  toBeatSeries,
  toMoves,
  useFleet,
  type FleetEntry,
  type Move,
} from "../data/fleet.ts";
import { formatAge, formatClock, formatCost, formatCount, formatSpan, plural } from "../data/format.ts";
import { toLoadFigures } from "../data/load-figures.ts";
import { useNow } from "../data/now.ts";
import { lastEventsQuery } from "../data/queries.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { cx } from "../ui/class-names.ts";
import { GuardianMark } from "../ui/guardian-mark.tsx";
import { Liveness } from "../ui/liveness.tsx";
import { QuietMark } from "../ui/quiet-mark.tsx";
import { StateBadge } from "../ui/state-badge.tsx";
import { UnsafeBadge } from "../ui/unsafe-badge.tsx";
import { useWaits, WaitMark } from "../ui/wait-mark.tsx";
import { PeekButton } from "./peek-button.tsx";
import { PickBox } from "./pick-box.tsx";

interface CardProps {
  readonly sandbox: Sandbox;
  readonly project: string | undefined;
  readonly isPicked: boolean;
  /** Absent for whoever may only look. */
  readonly onPick: ((id: string, isRange: boolean) => void) | undefined;
  readonly onPeek: (id: string) => void;
}

export const SandboxCard = memo(function SandboxCard({ sandbox, project, isPicked, onPick, onPeek }: CardProps) {
  const entry = useFleet((fleet) => fleet[sandbox.id]);
  const waits = useWaits(sandbox);
  const facts = [project, sandbox.runtime ?? sandbox.provider, sandbox.branch].filter(
    (fact) => fact !== undefined && fact !== null,
  );
  return (
    <li
      data-sandbox={sandbox.id}
      className={cx(
        "group relative flex h-(--tile) flex-col rounded-2xl border bg-surface p-(--tile-pad) shadow-card transition-[border-color,transform] has-focus-visible:border-live",
        isPicked ? "border-live ring-1 ring-live" : waits ? "border-wait" : "border-line hover:border-line-strong",
      )}
    >
      <div className="flex items-center gap-2">
        <StateBadge state={sandbox.state} />
        <Liveness state={sandbox.state} lastAt={sandbox.last_heartbeat_at} />
        <QuietMark state={sandbox.state} health={sandbox.health} />
        <UnsafeBadge enforcedBy={sandbox.enforced_by} />
        {waits ? <WaitMark sandbox={sandbox} /> : <GuardianMark sandboxId={sandbox.id} />}
        <span className="flex-1" />
        <Beats entry={entry} />
        {onPick !== undefined && (
          <PickBox
            sandbox={sandbox}
            isPicked={isPicked}
            onPick={onPick}
            className={cx(
              "-my-1 size-7 group-hover:opacity-100 has-focus-visible:opacity-100 max-md:hidden",
              !isPicked && "opacity-0",
            )}
          />
        )}
        <PeekButton title={toTitle(sandbox)} onPeek={() => onPeek(sandbox.id)} />
      </div>
      <h2 className="mt-2.5 line-clamp-2 font-semibold tracking-tight text-pretty break-words">
        <Link
          to="/sandboxes/$sandboxId"
          params={{ sandboxId: sandbox.id }}
          data-sandbox-link
          className="after:absolute after:inset-0 after:rounded-2xl focus-visible:outline-none after:focus-visible:outline-2 after:focus-visible:outline-live"
        >
          {toTitle(sandbox)}
        </Link>
      </h2>
      <p className="mt-0.5 truncate text-xs text-ink-3">{facts.join(" · ")}</p>
      {isMaking(sandbox) && <Making sandbox={sandbox} made={entry?.made ?? 0} />}
      <Moves sandbox={sandbox} known={entry?.moves} />
      <p className="mt-auto flex gap-3 border-t border-line pt-2.5 text-xs whitespace-nowrap text-ink-3 tabular-nums">
        {/* One line high: what finds no room in it goes below, where nobody sees it. */}
        <span className="flex h-4.5 min-w-0 flex-1 flex-wrap gap-x-3 overflow-hidden">
          <span>turn {sandbox.turn}</span>
          {sandbox.tokens.total > 0 && (
            <span>{sandbox.cost_usd === null ? "no price" : formatCost(sandbox.cost_usd)}</span>
          )}
          {toLoadFigures(sandbox, entry?.load).map(({ name, value, title, isHigh }) => (
            <span key={name} title={title} className={cx(isHigh && "text-wait-ink")}>
              {name} {value}
            </span>
          ))}
          <span>{plural(sandbox.event_count, "event")}</span>
        </span>
        {sandbox.ended_at === null ? <Age since={sandbox.created_at} /> : <Took sandbox={sandbox} />}
      </p>
    </li>
  );
});

const isMaking = ({ state, provider }: Sandbox): boolean =>
  provider !== "external" && (state === "pending" || state === "creating");

/** How far it is on the way to its agent: made, its repository put in, its worker started. */
function Making({ sandbox, made }: { readonly sandbox: Sandbox; readonly made: number }) {
  const steps = sandbox.repo === null && sandbox.branch === null ? 2 : 3;
  const done = Math.min(made, steps);
  return (
    <div
      role="progressbar"
      aria-label={`Making ${toTitle(sandbox)}`}
      aria-valuemin={0}
      aria-valuemax={steps}
      aria-valuenow={done}
      aria-valuetext={`${done} of ${steps} steps`}
      className="mt-2.5 flex gap-1"
    >
      {Array.from({ length: steps }, (_, at) => (
        <span
          key={at}
          className={cx(
            "h-1.5 flex-1 rounded-full",
            at < done ? "bg-live" : at === done ? "animate-breathe bg-line-strong" : "bg-line",
          )}
        />
      ))}
    </div>
  );
}

const Took = ({
  sandbox: { created_at: created, started_at: started, ended_at: ended },
}: {
  readonly sandbox: Sandbox;
}) => (
  <span className="whitespace-nowrap">
    took {formatSpan(Date.parse(ended ?? created) - Date.parse(started ?? created))}
  </span>
);

function Moves({ sandbox, known = [] }: { readonly sandbox: Sandbox; readonly known: readonly Move[] | undefined }) {
  const hasMore = known.length < LINES_KEPT && sandbox.event_count > known.length;
  const read = useQuery({ ...lastEventsQuery(sandbox.id), enabled: hasMore });
  const moves = joinMoves(toMoves(read.data?.events ?? []), known);
  // From the bottom up, as many as there is room for: those that are too many go into a column beside it, which nobody sees.
  return (
    <ol
      className="mt-2.5 mb-1 flex min-h-0 flex-1 flex-col-reverse flex-wrap content-start justify-end gap-y-0.5 overflow-hidden font-mono text-xs leading-4"
      aria-label="Last moves, newest first"
    >
      {moves.length === 0 && !read.isLoading && <li className="text-ink-3">No move yet</li>}
      {moves.toReversed().map((move, at) => (
        <li key={move.seq} className={cx("flex w-full gap-2", at === 0 ? "text-ink" : "text-ink-3")}>
          <time dateTime={move.at} className="shrink-0 text-ink-3">
            {formatClock(move.at)}
          </time>
          <span className="truncate">{move.text}</span>
        </li>
      ))}
    </ol>
  );
}

function Age({ since }: { readonly since: string }) {
  const now = useNow();
  return (
    <time dateTime={since} className="shrink-0">
      {formatAge(now - Date.parse(since))} old
    </time>
  );
}

/** Events of the last ten minutes, as a hedge of bars. */
function Beats({ entry }: { readonly entry: FleetEntry | undefined }) {
  const now = useNow();
  const series = toBeatSeries(entry, now);
  const highest = Math.max(4, ...series);
  const total = series.reduce((sum, beat) => sum + beat, 0);
  return (
    <svg
      viewBox={`0 0 ${BEATS_KEPT * 2} 18`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${formatCount(total)} events in the last ten minutes`}
      className="h-4.5 w-24 min-w-0 shrink"
    >
      {series.map((beat, n) => (
        <rect
          key={n}
          x={n * 2}
          y={beat === 0 ? 17 : 18 - Math.max(2, (beat / highest) * 18)}
          width={1.4}
          height={beat === 0 ? 1 : Math.max(2, (beat / highest) * 18)}
          rx={0.7}
          className={beat === 0 ? "fill-line-strong" : "fill-live"}
        />
      ))}
    </svg>
  );
}

export function CardSkeletons() {
  return (
    <div
      className="grid grid-cols-1 gap-(--tile-gap) sm:grid-cols-[repeat(auto-fill,minmax(var(--tile-wide),1fr))]"
      role="status"
      aria-label="Loading sandboxes"
    >
      {Array.from({ length: 6 }, (_, n) => (
        <div key={n} className="skeleton h-(--tile) rounded-2xl!" />
      ))}
    </div>
  );
}
