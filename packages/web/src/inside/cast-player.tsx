/** Plays a recorded terminal: from the start, from anywhere, faster. */
import type { Recording } from "@drover/contract";
import { parseCast, type Cast } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { Pause, Play, RotateCcw } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { formatSpan } from "../data/format.ts";

import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { castQuery } from "./queries.ts";
import { Reel } from "./reel.ts";
import { useScreen } from "./use-screen.ts";

const SPEEDS = [
  { value: "1", label: "1×" },
  { value: "4", label: "4×" },
  { value: "16", label: "16×" },
] as const;

export function CastPlayer({ sandboxId, recording }: { readonly sandboxId: string; readonly recording: Recording }) {
  const read = useQuery(castQuery(sandboxId, recording.artifact_id));
  const cast = useMemo(() => (read.data === undefined ? undefined : parseCast(read.data)), [read.data]);
  if (read.isError)
    return <Problem error={read.error} what="The recording could not be read" onRetry={() => void read.refetch()} />;
  if (cast === undefined) return <div className="skeleton min-h-60 flex-1" />;
  return <Player cast={cast} isTruncated={recording.is_truncated} />;
}

function Player({ cast, isTruncated }: { readonly cast: Cast; readonly isTruncated: boolean }) {
  const [at, setAt] = useState(cast.seconds);
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<(typeof SPEEDS)[number]["value"]>("1");
  const reel = useRef<Reel>(undefined);
  const shownAt = useRef(at);
  const place = useScreen({
    size: cast,
    onOpen: (screen) => {
      reel.current = new Reel(screen, cast);
      reel.current.show(shownAt.current);
      return () => {
        reel.current = undefined;
      };
    },
  });
  useEffect(() => {
    shownAt.current = at;
    reel.current?.show(at);
  }, [at]);
  useEffect(() => {
    if (!isPlaying) return;
    let last = performance.now();
    let frame = requestAnimationFrame(function step(now) {
      const next = Math.min(cast.seconds, shownAt.current + ((now - last) / 1_000) * Number(speed));
      last = now;
      setAt(next);
      if (next >= cast.seconds) setPlaying(false);
      else frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, speed, cast]);
  const isOver = at >= cast.seconds;
  const toggle = () => {
    if (isOver) setAt(0);
    setPlaying(isOver || !isPlaying);
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-2" data-cast={isPlaying ? "playing" : "still"}>
      <div
        className="min-h-0 flex-1 overflow-auto rounded-lg border border-line bg-surface p-2"
        tabIndex={0}
        role="region"
        aria-label="Recorded terminal"
      >
        <div ref={place} />
      </div>
      <div className="flex flex-wrap items-center gap-3">
        <Button size="small" onClick={toggle} className="max-md:h-9">
          {isPlaying && !isOver ? <Pause size={13} /> : isOver ? <RotateCcw size={13} /> : <Play size={13} />}
          {isPlaying && !isOver ? "Pause" : isOver ? "Play again" : "Play"}
        </Button>
        <input
          type="range"
          aria-label="Position"
          min={0}
          max={cast.seconds}
          step={0.01}
          value={at}
          onChange={(event) => {
            setPlaying(false);
            setAt(Number(event.target.value));
          }}
          className="min-w-32 flex-1 accent-live"
        />
        <span className="text-xs text-ink-3 tabular-nums">
          {formatSpan(at * 1_000)} of {formatSpan(cast.seconds * 1_000)}
        </span>
        <Choice label="Speed" value={speed} options={SPEEDS} onChange={setSpeed} />
      </div>
      <p className="text-2xs text-ink-3">
        Silences are shortened to two seconds.{isTruncated && " The recording was full before the terminal was closed."}
      </p>
    </div>
  );
}
