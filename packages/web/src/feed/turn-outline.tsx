/** The turns of a run as a table of contents: how long each took, what it changed, where it went wrong. */
import { toTurns, type FeedView, type LogEvent } from "@drover/contract/views";
import { FilePen, TriangleAlert } from "lucide-react";
import { useMemo } from "react";
import { formatCount, formatDuration } from "../data/format.ts";
import { useSettled } from "../replay/use-settled.ts";
import { cx } from "../ui/class-names.ts";

const EVERY_MS = 1_000;
const SHOWN = 60;

interface TurnOutlineProps {
  readonly view: FeedView;
  readonly events: readonly LogEvent[];
  readonly selected: number | undefined;
  readonly onSelect: (seq: number) => void;
}

export function TurnOutline({ view, events, selected, onSelect }: TurnOutlineProps) {
  const { rows } = useSettled(view, EVERY_MS);
  // The log grows in step with the rows, so that they alone say when to look again.
  // oxlint-disable-next-line react/exhaustive-deps -- see above
  const turns = useMemo(() => toTurns(rows, events), [rows]);
  const here = turns.findLast(({ seq }) => selected !== undefined && seq <= selected);
  if (turns.length < 2) return null;
  return (
    <section>
      <h2 className="mb-2 text-xs font-semibold text-ink-3">Turns {formatCount(turns.length)}</h2>
      <ol className="-mx-2 flex max-h-72 flex-col overflow-y-auto">
        {turns.slice(-SHOWN).map((turn) => (
          <li key={turn.turn}>
            <button
              type="button"
              aria-current={turn === here ? "true" : undefined}
              onClick={() => onSelect(turn.seq)}
              className={cx(
                "flex min-h-7 w-full items-center gap-2 rounded-md px-2 text-left text-xs",
                turn === here ? "bg-live-soft" : "hover:bg-hover",
              )}
            >
              <span className="w-7 shrink-0 font-medium text-ink-2 tabular-nums">T{turn.turn}</span>
              <span className="min-w-0 flex-1 truncate font-mono text-2xs text-ink-3">
                {turn.actions[0] ?? turn.said}
              </span>
              {turn.errors > 0 && (
                <>
                  <TriangleAlert size={12} className="shrink-0 text-fail-ink" aria-hidden />
                  <span className="sr-only">{turn.errors} failed</span>
                </>
              )}
              {turn.edits.length > 0 && (
                <>
                  <FilePen size={12} className="shrink-0 text-ink-3" aria-hidden />
                  <span className="sr-only">{turn.edits.length} changed</span>
                </>
              )}
              <span className="shrink-0 text-2xs text-ink-3 tabular-nums">{formatDuration(turn.durationMs)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
