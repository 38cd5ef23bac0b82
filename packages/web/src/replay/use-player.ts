/** Where in a run somebody stands, and the film that moves on from there. */
import { eventAtFilm, indexOfSeq, toFilm } from "@drover/contract/views";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ReplayLog } from "./use-replay-log.ts";

export const SPEEDS = ["1", "4", "16", "60"] as const;
export type Speed = (typeof SPEEDS)[number];

export type Bounds = Pick<ReplayLog, "events" | "first" | "last">;

/** The address follows at most this often while the film runs. */
const TOLD_EVERY_MS = 300;

export interface Player {
  /** sandbox_seq of the last event that has happened. */
  readonly at: number;
  readonly isPlaying: boolean;
  readonly film: Float64Array;
  /** Milliseconds of the film. */
  readonly filmMs: number;
  readonly seek: (seq: number) => void;
  readonly seekFilm: (ms: number) => void;
  readonly toggle: () => void;
}

interface PlayerOptions {
  /** Its events may be a part of the run only; the bounds are those of all of it. */
  readonly log: Bounds;
  /** Of the address; undefined stands for the end, wherever that is. */
  readonly told: number | undefined;
  readonly speed: Speed;
  readonly onMove: (seq: number | undefined) => void;
}

export function usePlayer({ log, told, speed, onMove }: PlayerOptions): Player {
  const { events, first, last } = log;
  const film = useMemo(() => toFilm(events), [events]);
  const [own, setOwn] = useState<number | undefined>(told);
  const [isPlaying, setPlaying] = useState(false);
  const at = Math.max(first, Math.min(last, own ?? last));
  const filmMs = film[indexOfSeq(events, at)] ?? 0;

  const latest = useRef({ log, film, onMove, at });
  useEffect(() => {
    latest.current = { log, film, onMove, at };
  });

  // The address may be changed from outside: by the back button, or by a link to another moment.
  const [lastTold, setLastTold] = useState(told);
  if (told !== lastTold) {
    setLastTold(told);
    if (!isPlaying) setOwn(told);
  }

  const tellTimer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const tell = useCallback((seq: number | undefined) => {
    clearTimeout(tellTimer.current);
    tellTimer.current = setTimeout(() => latest.current.onMove(seq), TOLD_EVERY_MS);
  }, []);
  useEffect(() => () => clearTimeout(tellTimer.current), []);

  const seek = useCallback(
    (seq: number) => {
      const { log: bounds } = latest.current;
      const next = seq >= bounds.last ? undefined : Math.max(bounds.first, seq);
      setPlaying(false);
      setOwn(next);
      tell(next);
    },
    [tell],
  );
  const seekFilm = useCallback(
    (ms: number) => {
      const { log: bounds, film: reel } = latest.current;
      const event = bounds.events[Math.max(0, eventAtFilm(reel, ms))];
      if (event !== undefined) seek(event.sandbox_seq);
    },
    [seek],
  );
  const toggle = useCallback(() => {
    const { log: bounds, at: here } = latest.current;
    setPlaying((was) => {
      if (!was && here >= bounds.last) setOwn(bounds.first);
      return !was;
    });
  }, []);

  useEffect(() => {
    if (!isPlaying) return;
    let before = performance.now();
    // What was shown last may be a frame old when the film ends.
    let here: number | undefined = latest.current.at;
    let ms = latest.current.film[indexOfSeq(latest.current.log.events, latest.current.at)] ?? 0;
    let frame = requestAnimationFrame(function step(now) {
      const { log: bounds, film: reel } = latest.current;
      ms += (now - before) * Number(speed);
      before = now;
      const event = bounds.events[eventAtFilm(reel, ms)];
      const isOver = ms >= (reel.at(-1) ?? 0);
      if (event !== undefined) {
        here = isOver ? undefined : event.sandbox_seq;
        setOwn(here);
      }
      if (isOver) setPlaying(false);
      else frame = requestAnimationFrame(step);
    });
    return () => {
      cancelAnimationFrame(frame);
      tell(here === undefined || here >= latest.current.log.last ? undefined : here);
    };
  }, [isPlaying, speed, tell]);

  return { at, isPlaying, film, filmMs, seek, seekFilm, toggle };
}
