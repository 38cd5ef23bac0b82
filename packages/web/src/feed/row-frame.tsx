/** The frame of a row: time, a node on the trail, and what happened. */
import type { FeedRow } from "@drover/contract/views";
import { History, Link2, type LucideIcon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { formatClock, formatDay } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";
import { useRunContext } from "./run-context.tsx";

interface RowFrameProps {
  readonly row: Pick<FeedRow, "seq" | "at" | "within">;
  readonly icon: LucideIcon;
  readonly tone?: string;
  readonly isQuiet?: boolean;
  readonly children: ReactNode;
}

/** Sub-agents that work at the same time are told apart. */
const RAILS = ["border-mind/60", "border-done/60", "border-wait/60", "border-live/60"] as const;

/** The colour of a sub-agent, by the call that it was asked with. */
export const toRail = (callId: string): string => {
  let sum = 0;
  for (let at = 0; at < callId.length; at += 1) sum += callId.charCodeAt(at);
  return RAILS[sum % RAILS.length] ?? RAILS[0];
};

export function RowFrame({ row, icon: Icon, tone = "text-ink-3", isQuiet = false, children }: RowFrameProps) {
  // A flood of rows has no time for buttons that nobody points at.
  const [isNear, setNear] = useState(false);
  return (
    <div
      onPointerEnter={() => setNear(true)}
      onPointerLeave={() => setNear(false)}
      className="grid grid-cols-[1.75rem_minmax(0,1fr)] gap-x-2 px-3 @2xl:grid-cols-[4.25rem_1.75rem_minmax(0,1fr)_3.5rem] @2xl:px-5"
    >
      <time
        dateTime={row.at}
        title={formatDay(row.at)}
        className="hidden pt-[calc(var(--row-y)+0.125rem)] text-right font-mono text-2xs leading-5 text-ink-3 tabular-nums @2xl:block"
      >
        {formatClock(row.at)}
      </time>
      <div className="trail relative flex justify-center">
        <span
          className={cx(
            "relative mt-[var(--row-y)] grid place-items-center rounded-full bg-paper",
            isQuiet ? "size-6" : "size-6 border border-line-strong",
            tone,
          )}
        >
          <Icon size={isQuiet ? 11 : 13} aria-hidden strokeWidth={2.2} />
        </span>
      </div>
      <div
        data-within={row.within}
        className={cx(
          "max-w-[72rem] min-w-0 py-[var(--row-y)]",
          row.within !== undefined && `border-l-3 pl-3 ${toRail(row.within)}`,
        )}
      >
        {row.within !== undefined && <span className="sr-only">By a sub-agent: </span>}
        <time dateTime={row.at} className="block font-mono text-2xs text-ink-3 @2xl:hidden">
          {formatClock(row.at)}
        </time>
        {children}
      </div>
      {isNear && <RowActions seq={row.seq} />}
    </div>
  );
}

function RowActions({ seq }: { readonly seq: number }) {
  const { onCopyLink, onReplay } = useRunContext();
  return (
    <div className="hidden pt-[var(--row-y)] @2xl:flex">
      {onReplay !== undefined && (
        <button
          type="button"
          tabIndex={-1}
          aria-label={`Replay from event ${seq}`}
          title="Replay from here"
          onClick={() => onReplay(seq)}
          className="grid size-6 place-items-center rounded-md text-ink-3 hover:bg-hover hover:text-ink"
        >
          <History size={13} />
        </button>
      )}
      <button
        type="button"
        tabIndex={-1}
        aria-label={`Copy a link to event ${seq}`}
        title={`Event ${seq}`}
        onClick={() => onCopyLink(seq)}
        className="grid size-6 place-items-center rounded-md text-ink-3 hover:bg-hover hover:text-ink"
      >
        <Link2 size={13} />
      </button>
    </div>
  );
}

/** The line of a row that opens and folds it. */
export function RowToggle({
  isOpen,
  onToggle,
  children,
  label,
}: {
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly children: ReactNode;
  readonly label?: string;
}) {
  return (
    <button
      type="button"
      data-toggle
      aria-expanded={isOpen}
      aria-label={label}
      onClick={onToggle}
      className="-mx-1.5 flex min-h-6 w-[calc(100%+0.75rem)] min-w-0 items-center gap-2 rounded-md px-1.5 text-left text-sm hover:bg-hover"
    >
      {children}
    </button>
  );
}
