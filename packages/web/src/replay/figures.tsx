/** The figures of a moment, and what can be done there. */
import type { LogEvent } from "@drover/client";
import type { Moment } from "@drover/contract";
import type { FeedView, PersonRow } from "@drover/contract/views";
import { useId, type ReactNode } from "react";
import { formatClock, formatCost, formatDay, plural } from "../data/format.ts";
import { TodoList } from "../feed/rows/tools.tsx";
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

/** How far the agent's plan was, and all of it behind the figure. */
function Plan({ items }: { readonly items: FeedView["todo"] }) {
  const id = useId();
  const done = items.filter((item) => item.state === "done").length;
  return (
    <>
      <button
        type="button"
        popoverTarget={id}
        aria-label={`Plan: ${done} of ${items.length} done`}
        className="rounded underline underline-offset-2 [anchor-name:--moment-plan]"
      >
        {done}/{items.length}
      </button>
      <div
        id={id}
        popover="auto"
        role="dialog"
        aria-label="The plan at this moment"
        className="inset-auto top-[anchor(bottom)] left-[anchor(left)] mt-1.5 max-h-[50dvh] w-80 max-w-[calc(100vw-2rem)] overflow-y-auto rounded-xl border border-line bg-raised p-3 font-normal text-ink shadow-lift [position-anchor:--moment-plan] open:animate-enter max-md:left-4"
      >
        <TodoList items={items} />
      </div>
    </>
  );
}

const isPerson = (row: FeedView["rows"][number]): row is PersonRow => row.kind === "person";

export function Figures({ view, moment, event, isWhole, children }: FiguresProps) {
  const people = view.rows.filter(isPerson);
  const waiting = people.filter((row) => !["seen", "failed", "expired"].includes(row.steps.at(-1)?.state ?? "seen"));
  const verdict = moment?.verdict ?? null;
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
            <Plan items={view.todo} />
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
