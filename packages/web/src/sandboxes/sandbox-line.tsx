/** A sandbox as one line of the list: its state, what it does or did, and what it cost. */
import type { Sandbox } from "@drover/contract";
import { toCause } from "@drover/contract/views";
import { Link } from "@tanstack/react-router";
import { memo, type ReactNode } from "react";
import { useFleet, type FleetEntry } from "../data/fleet.ts";
import { formatAge, formatCost, formatCount, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { PeekButton } from "../pages/peek-button.tsx";
import { PickBox } from "../pages/pick-box.tsx";
import { cx } from "../ui/class-names.ts";
import { GuardianMark } from "../ui/guardian-mark.tsx";
import { Liveness } from "../ui/liveness.tsx";
import { QuietMark } from "../ui/quiet-mark.tsx";
import { StateBadge } from "../ui/state-badge.tsx";
import { UnsafeBadge } from "../ui/unsafe-badge.tsx";
import { useWaits, WaitMark } from "../ui/wait-mark.tsx";

interface LineProps {
  readonly sandbox: Sandbox;
  readonly project: string | undefined;
  readonly isPicked: boolean;
  /** Absent for whoever may only look. */
  readonly onPick: ((id: string, isRange: boolean) => void) | undefined;
  readonly onPeek: (id: string) => void;
}

/** The newest first: a line has room for little more. */
const toLastMoves = (entry: FleetEntry | undefined): string =>
  (entry?.moves ?? [])
    .slice(-2)
    .toReversed()
    .map(({ text }) => text)
    .join(" · ");

export const SandboxLine = memo(function SandboxLine({ sandbox, project, isPicked, onPick, onPeek }: LineProps) {
  const now = useNow();
  const waits = useWaits(sandbox);
  const lastMoves = useFleet((fleet) => toLastMoves(fleet[sandbox.id]));
  const start = Date.parse(sandbox.started_at ?? sandbox.created_at);
  const end = sandbox.ended_at === null ? now : Date.parse(sandbox.ended_at);
  const isOver = sandbox.ended_at !== null;
  const facts = [
    project,
    sandbox.runtime ?? sandbox.provider,
    sandbox.branch,
    isOver && sandbox.state_cause !== null ? toCause(sandbox.state_cause) : undefined,
  ];
  return (
    <li
      data-sandbox={sandbox.id}
      className={cx(
        "relative flex items-center gap-x-4 gap-y-1 border-b border-line px-4 py-(--row-y) last:border-0 hover:bg-hover has-[a:focus-visible]:bg-hover max-sm:flex-wrap max-sm:py-2.5",
        isPicked && "bg-live-soft hover:bg-live-soft",
      )}
    >
      {onPick !== undefined && (
        <PickBox sandbox={sandbox} isPicked={isPicked} onPick={onPick} className="-m-2 size-9" />
      )}
      <div className="flex w-30 shrink-0 flex-col items-start gap-0.5 max-sm:w-auto max-sm:flex-row max-sm:items-center max-sm:gap-2">
        <StateBadge state={sandbox.state} />
        <Liveness state={sandbox.state} lastAt={sandbox.last_heartbeat_at} />
        <QuietMark state={sandbox.state} health={sandbox.health} />
      </div>
      <div className="min-w-0 flex-1 py-0.5 max-sm:order-last max-sm:basis-full">
        <Link
          to="/sandboxes/$sandboxId"
          params={{ sandboxId: sandbox.id }}
          data-sandbox-link
          className="block truncate text-sm font-medium after:absolute after:inset-0 focus-visible:outline-none after:focus-visible:outline-2 after:focus-visible:-outline-offset-2 after:focus-visible:outline-live"
        >
          {toTitle(sandbox)}
        </Link>
        <p className="truncate text-xs text-ink-3">
          {facts.filter(Boolean).join(" · ")}
          {!isOver && lastMoves !== "" && (
            <>
              {" ·"}
              <span className="font-mono"> {lastMoves}</span>
            </>
          )}
        </p>
      </div>
      <UnsafeBadge enforcedBy={sandbox.enforced_by} />
      {waits ? <WaitMark sandbox={sandbox} /> : !isOver && <GuardianMark sandboxId={sandbox.id} />}
      <dl className="flex shrink-0 items-center gap-4 max-sm:ml-auto text-right text-xs text-ink-3 tabular-nums">
        <Fact name="turn" className="hidden w-14 lg:block">
          {formatCount(sandbox.turn)}
        </Fact>
        <Fact name="events" className="hidden w-18 xl:block">
          {formatCount(sandbox.event_count)}
        </Fact>
        <Fact name="cost" className="hidden w-18 sm:block">
          {sandbox.cost_usd === null ? "no price" : sandbox.tokens.total === 0 ? "" : formatCost(sandbox.cost_usd)}
        </Fact>
        <Fact name="took" className="hidden w-16 md:block">
          {formatSpan(end - start)}
        </Fact>
        <Fact name="age" className="w-9">
          {formatAge(now - Date.parse(sandbox.created_at))}
        </Fact>
      </dl>
      <PeekButton title={toTitle(sandbox)} onPeek={() => onPeek(sandbox.id)} />
    </li>
  );
});

/** Over the lines, as wide as what stands in them. */
export const SandboxHeadings = ({ hasBoxes }: { readonly hasBoxes: boolean }) => (
  <div aria-hidden className="hidden gap-x-4 px-4 pb-1.5 text-2xs font-medium text-ink-3 md:flex">
    {hasBoxes && <span className="w-5" />}
    <span className="w-30">State</span>
    <span className="flex-1">What is done, and where</span>
    <span className="flex gap-4 text-right">
      <span className="hidden w-14 lg:block">Turn</span>
      <span className="hidden w-18 xl:block">Events</span>
      <span className="w-18">Cost</span>
      <span className="w-16">Took</span>
      <span className="w-9">Age</span>
    </span>
    <span className="w-7" />
  </div>
);

function Fact({
  name,
  className,
  children,
}: {
  readonly name: string;
  readonly className: string;
  readonly children: ReactNode;
}) {
  return (
    <div className={className}>
      <dt className="sr-only">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
