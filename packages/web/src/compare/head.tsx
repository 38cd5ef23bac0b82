/** One of two runs in figures: better ones green, and what it is at now. */
import type { Sandbox } from "@drover/contract";
import type { CommandRow, RunTurn } from "@drover/contract/views";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { formatCost, formatCount, formatSpan } from "../data/format.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { TestResult } from "../pages/test-result.tsx";
import { cx } from "../ui/class-names.ts";
import { StateBadge } from "../ui/state-badge.tsx";

const sum = (turns: readonly RunTurn[], read: (turn: RunTurn) => number) =>
  turns.reduce((total, turn) => total + read(turn), 0);

interface HeadProps {
  readonly sandbox: Sandbox;
  readonly turns: readonly RunTurn[];
  readonly other: readonly RunTurn[];
  /** What it did last, while it works. */
  readonly move: string | undefined;
  /** The last run of tests. */
  readonly tested: CommandRow | undefined;
  readonly isRight?: boolean;
  /** Where a winner is chosen. */
  readonly children?: ReactNode;
}

export function Head({ sandbox, turns, other, move, tested, isRight = false, children }: HeadProps) {
  const figures = [
    { name: "turns", own: turns.length, theirs: other.length, show: formatCount },
    {
      name: "cost",
      own: sum(turns, (turn) => turn.costUsd),
      theirs: sum(other, (turn) => turn.costUsd),
      show: formatCost,
    },
    {
      name: "time",
      own: sum(turns, (turn) => turn.durationMs),
      theirs: sum(other, (turn) => turn.durationMs),
      show: formatSpan,
    },
    {
      name: "errors",
      own: sum(turns, (turn) => turn.errors),
      theirs: sum(other, (turn) => turn.errors),
      show: formatCount,
    },
  ];
  const added = sum(turns, (turn) => turn.added);
  const removed = sum(turns, (turn) => turn.removed);
  return (
    <section
      aria-label={isRight ? "Run B" : "Run A"}
      className={cx("min-w-0 px-3 py-2.5 md:px-5", isRight && "border-l border-line")}
    >
      <div className="flex flex-wrap items-center gap-2">
        <StateBadge state={sandbox.state} />
        <Link
          to="/sandboxes/$sandboxId"
          params={{ sandboxId: sandbox.id }}
          className="min-w-0 truncate text-sm font-semibold underline-offset-2 hover:underline"
        >
          {toTitle(sandbox)}
        </Link>
        <span className="font-mono text-2xs text-ink-3">
          {[sandbox.runtime ?? sandbox.provider, sandbox.model].filter((part) => part !== null).join(" ")}
        </span>
        <span className="flex-1" />
        {children}
      </div>
      <dl className="mt-1.5 flex flex-wrap gap-x-4 gap-y-1 text-xs text-ink-3 tabular-nums">
        {figures.map(({ name, own, theirs, show }) => (
          <div key={name} className="flex items-baseline gap-1">
            <dt>{name}</dt>
            <dd className={cx("font-semibold", own < theirs ? "text-live-ink" : "text-ink-2")}>{show(own)}</dd>
          </div>
        ))}
        <div className="flex items-baseline gap-1">
          <dt>lines</dt>
          <dd className="font-semibold">
            <span className="text-live-ink">+{formatCount(added)}</span>{" "}
            <span className="text-fail-ink">−{formatCount(removed)}</span>
          </dd>
        </div>
        {tested !== undefined && (
          <div className="flex items-baseline gap-1">
            <dt>tests</dt>
            <dd>
              <TestResult sandboxId={sandbox.id} row={tested} />
            </dd>
          </div>
        )}
      </dl>
      {move !== undefined && (
        <p className="mt-1.5 truncate font-mono text-xs text-ink-2" data-testid="last-move">
          {move}
        </p>
      )}
    </section>
  );
}
