/** The terminal of a moment: what the agent's commands had printed by then, and the screen of whoever had one open. */
import type { Recording } from "@drover/contract";
import { parseCast, type Cast, type CommandRow, type FeedView } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { formatClock } from "../data/format.ts";
import { AnsiLine, toOutputLines } from "../feed/ansi.tsx";
import { castQuery, recordingsQuery } from "../inside/queries.ts";
import { Reel } from "../inside/reel.ts";
import { useScreen } from "../inside/use-screen.ts";
import { cx } from "../ui/class-names.ts";

const COMMANDS_SHOWN = 40;
const LINES_SHOWN = 400;

/** The recording that was being made at a time. */
function findRecording(recordings: readonly Recording[], ms: number): Recording | undefined {
  return recordings.find(({ recorded_at, duration_ms }) => {
    const end = Date.parse(recorded_at);
    return end - duration_ms <= ms && ms <= end;
  });
}

interface MomentTerminalProps {
  readonly sandboxId: string;
  readonly view: FeedView;
  /** When the moment was. */
  readonly at: string | undefined;
}

export function MomentTerminal({ sandboxId, view, at }: MomentTerminalProps) {
  const recordings = useQuery(recordingsQuery(sandboxId));
  const ms = Date.parse(at ?? "");
  const open = findRecording(recordings.data?.items ?? [], ms);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {open !== undefined && (
        <OpenTerminal
          key={open.artifact_id}
          sandboxId={sandboxId}
          recording={open}
          seconds={(ms - Date.parse(open.recorded_at) + open.duration_ms) / 1_000}
        />
      )}
      <Commands view={view} />
    </div>
  );
}

function Commands({ view }: { readonly view: FeedView }) {
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

interface OpenTerminalProps {
  readonly sandboxId: string;
  readonly recording: Recording;
  readonly seconds: number;
}

function OpenTerminal({ sandboxId, recording, seconds }: OpenTerminalProps) {
  const read = useQuery(castQuery(sandboxId, recording.artifact_id));
  const cast = useMemo(
    () => (read.data === undefined ? undefined : parseCast(read.data, Number.POSITIVE_INFINITY)),
    [read.data],
  );
  if (cast === undefined) return null;
  return <OpenScreen cast={cast} seconds={seconds} by={recording.opened_by} />;
}

function OpenScreen({
  cast,
  seconds,
  by,
}: {
  readonly cast: Cast;
  readonly seconds: number;
  readonly by: string | null;
}) {
  const reel = useRef<Reel>(undefined);
  const shown = useRef(seconds);
  const place = useScreen({
    size: cast,
    onOpen: (screen) => {
      reel.current = new Reel(screen, cast);
      reel.current.show(shown.current);
      return () => {
        reel.current = undefined;
      };
    },
  });
  useEffect(() => {
    shown.current = seconds;
    reel.current?.show(seconds);
  }, [seconds]);
  return (
    <section aria-label="An open terminal" className="border-b border-line p-3">
      <p className="mb-2 text-2xs text-ink-3">{by ?? "Somebody"} had a terminal open</p>
      <div
        className="max-h-80 overflow-auto rounded-lg border border-line bg-surface p-2"
        tabIndex={0}
        role="region"
        aria-label="Screen"
      >
        <div ref={place} />
      </div>
    </section>
  );
}
