/** The figures of a moment, and what can be done there. */
import type { LogEvent } from "@drover/client";
import type { Moment } from "@drover/contract";
import type { FeedView, PersonRow } from "@drover/contract/views";
import type { ReactNode } from "react";
import { formatClock, formatCost, formatDay, plural } from "../data/format.ts";
import { Figure } from "../ui/figure.tsx";
import { StateBadge } from "../ui/state-badge.tsx";

interface FiguresProps {
  readonly view: FeedView;
  readonly moment: Moment | undefined;
  readonly event: LogEvent | undefined;
  /** Sums over the whole run can be told. */
  readonly isWhole: boolean;
  readonly children: ReactNode;
}

const isPerson = (row: FeedView["rows"][number]): row is PersonRow => row.kind === "person";

export function Figures({ view, moment, event, isWhole, children }: FiguresProps) {
  const people = view.rows.filter(isPerson);
  const waiting = people.filter((row) => !["seen", "failed", "expired"].includes(row.steps.at(-1)?.state ?? "seen"));
  const verdict = moment?.verdict ?? null;
  const done = view.todo.filter((item) => item.state === "done").length;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-b border-line px-3 py-2 text-xs text-ink-3 tabular-nums md:px-5">
      {moment !== undefined && <StateBadge state={moment.state.state} />}
      <dl
        className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-4 gap-y-1 max-md:order-last max-md:w-full max-md:flex-none"
        data-testid="figures"
      >
        {event !== undefined && (
          <Figure name="at">
            <time dateTime={event.created_at} title={formatDay(event.created_at)}>
              {formatClock(event.created_at)}
            </time>
          </Figure>
        )}
        <Figure name="turn">{view.turn}</Figure>
        {isWhole && (
          <>
            <Figure name="changed">{plural(view.files.size, "file")}</Figure>
            <Figure name="cost">{formatCost(view.spent.costUsd)}</Figure>
          </>
        )}
        {isWhole && view.todo.length > 0 && (
          <Figure name="plan">
            {done}/{view.todo.length}
          </Figure>
        )}
        {isWhole && people.length > 0 && (
          <Figure name="messages">
            {people.length}
            {waiting.length > 0 && ` (${waiting.length} waiting)`}
          </Figure>
        )}
        {verdict !== null && (
          <Figure name="guardian">
            <span
              className={verdict.trajectory_aligned ? "text-live-ink" : "text-fail-ink"}
              title={verdict.trajectory_summary}
            >
              {verdict.trajectory_aligned ? "aligned" : "drifting"} {verdict.alignment_score.toFixed(2)}
            </span>
          </Figure>
        )}
      </dl>
      <div className="flex items-center gap-2 max-md:ml-auto">{children}</div>
    </div>
  );
}
