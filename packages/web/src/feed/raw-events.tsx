/** The events of one row as they came, whatever the feed makes of them. */
import type { LogEvent } from "@drover/client";
import { rowOfSeq, type FeedView } from "@drover/contract/views";
import { useMemo } from "react";
import { formatClock, formatCount } from "../data/format.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Json } from "./json.tsx";

const SHOWN = 40;

interface RawEventsProps {
  readonly view: FeedView;
  readonly events: readonly LogEvent[];
  /** sandbox_seq of one of them. */
  readonly seq: number;
  readonly onClose: () => void;
}

export function RawEvents({ view, events, seq, onClose }: RawEventsProps) {
  const own = useMemo(() => {
    const at = rowOfSeq(view, seq);
    const row = view.rows[at];
    if (row === undefined) return [];
    return events.filter(({ sandbox_seq: one }) => one >= row.seq && one <= row.lastSeq && rowOfSeq(view, one) === at);
  }, [view, events, seq]);
  return (
    <Dialog isOpen onClose={onClose} isWide isText title={`Event ${formatCount(seq)}`} description="As it was told.">
      <ol className="flex flex-col gap-4">
        {own.slice(0, SHOWN).map((event) => (
          <li key={event.id} data-raw={event.sandbox_seq}>
            <p className="flex flex-wrap items-baseline gap-x-3 text-xs text-ink-3 tabular-nums">
              <code className="font-mono font-semibold text-ink">{event.event_type}</code>
              <span>#{formatCount(event.sandbox_seq)}</span>
              <time dateTime={event.created_at}>{formatClock(event.created_at)}</time>
              <span>{event.source}</span>
            </p>
            <Json value={event.event_data} label={`Data of event ${event.sandbox_seq}`} />
          </li>
        ))}
      </ol>
      {own.length > SHOWN && (
        <p className="mt-3 text-xs text-ink-3">
          The first {SHOWN} of {formatCount(own.length)} events.
        </p>
      )}
    </Dialog>
  );
}
