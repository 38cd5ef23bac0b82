/** What the agent's commands had printed by a moment. */
import type { CommandRow, FeedView } from "@drover/contract/views";
import { useEffect, useMemo, useRef } from "react";
import { formatClock } from "../data/format.ts";
import { AnsiLine, toOutputLines } from "../feed/ansi.tsx";
import { cx } from "../ui/class-names.ts";

const COMMANDS_SHOWN = 40;
const LINES_SHOWN = 400;

export function Commands({ view }: { readonly view: FeedView }) {
  const commands = useMemo(
    () => view.rows.filter((row): row is CommandRow => row.kind === "command").slice(-COMMANDS_SHOWN),
    [view.rows],
  );
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // In braces: what scrolling returns would be taken for what ends the effect.
    end.current?.scrollTo({ top: end.current.scrollHeight });
  }, [commands]);
  if (commands.length === 0)
    return (
      <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">
        The agent had run no command at this moment.
      </div>
    );
  return (
    <div
      ref={end}
      tabIndex={0}
      role="region"
      aria-label="Commands up to this moment"
      data-testid="moment-terminal"
      className="min-h-0 flex-1 overflow-auto bg-sunken px-4 py-3 font-mono text-xs leading-[20px]"
    >
      {commands.map((row) => (
        <Printed key={row.seq} row={row} />
      ))}
    </div>
  );
}

function Printed({ row }: { readonly row: CommandRow }) {
  const { call } = row;
  const lines = useMemo(() => toOutputLines(call.output ?? "").slice(-LINES_SHOWN), [call.output]);
  return (
    <div className="mb-3">
      <p className="break-all whitespace-pre-wrap">
        <span className="text-live-ink">$ </span>
        <span className="font-semibold">{row.command}</span>{" "}
        <span className={cx("text-2xs", call.isError ? "text-fail-ink" : "text-ink-3")}>
          {formatClock(row.at)}
          {call.endedAt === null ? " · running" : call.exitCode === null ? "" : ` · exit ${call.exitCode}`}
        </span>
      </p>
      {lines.map((line, at) => (
        <span key={at} className="block min-h-[1.35rem] break-words whitespace-pre-wrap">
          <AnsiLine line={line} />
        </span>
      ))}
    </div>
  );
}
