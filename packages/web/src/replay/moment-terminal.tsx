/** The terminal of a moment: what the agent's commands had printed by then, and the screen of whoever had one open. */
import type { Recording } from "@drover/contract";
import { parseCast, type Cast, type FeedView } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { castQuery, recordingsQuery } from "../inside/queries.ts";
import { Reel } from "../inside/reel.ts";
import { useScreen } from "../inside/use-screen.ts";
import { Commands } from "./commands.tsx";

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
