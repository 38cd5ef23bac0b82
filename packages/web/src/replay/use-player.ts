/** Where in a run somebody stands, and the film that moves on from there. */
import { eventAtFilm, indexOfSeq, toFilm, type LogEvent } from "@drover/contract/views";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

export const SPEEDS = ["1", "4", "16", "60"] as const;
export type Speed = (typeof SPEEDS)[number];

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
  readonly events: readonly LogEvent[];
  /** Of the address; undefined stands for the end, wherever that is. */
  readonly told: number | undefined;
  readonly speed: Speed;
  readonly onMove: (seq: number | undefined) => void;
}

export function usePlayer({ events, told, speed, onMove }: PlayerOptions): Player {
  const first = events[0]?.sandbox_seq ?? 0;
  const last = events.at(-1)?.sandbox_seq ?? 0;
  const film = useMemo(() => toFilm(events), [events]);
  const [own, setOwn] = useState<number | undefined>(told);
  const [isPlaying, setPlaying] = useState(false);
  const at = Math.max(first, Math.min(last, own ?? last));
  const filmMs = film[indexOfSeq(events, at)] ?? 0;

  const latest = useRef({ events, film, onMove, at });
  useEffect(() => {
    latest.current = { events, film, onMove, at };
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
      const { events: log } = latest.current;
      const end = log.at(-1)?.sandbox_seq ?? 0;
      const next = seq >= end ? undefined : Math.max(log[0]?.sandbox_seq ?? 0, seq);
      setPlaying(false);
      setOwn(next);
      tell(next);
    },
    [tell],
  );
  const seekFilm = useCallback(
    (ms: number) => {
      const { events: log, film: reel } = latest.current;
      const event = log[Math.max(0, eventAtFilm(reel, ms))];
      if (event !== undefined) seek(event.sandbox_seq);
    },
    [seek],
  );
  const toggle = useCallback(() => {
    const { events: log, at: here } = latest.current;
    const end = log.at(-1)?.sandbox_seq ?? 0;
    setPlaying((was) => {
      if (!was && here >= end) setOwn(log[0]?.sandbox_seq);
      return !was;
    });
  }, []);

  useEffect(() => {
    if (!isPlaying) return;
    let before = performance.now();
    let ms = latest.current.film[indexOfSeq(latest.current.events, latest.current.at)] ?? 0;
    let frame = requestAnimationFrame(function step(now) {
      const { events: log, film: reel } = latest.current;
      ms += (now - before) * Number(speed);
      before = now;
      const event = log[eventAtFilm(reel, ms)];
      const isOver = ms >= (reel.at(-1) ?? 0);
      if (event !== undefined) setOwn(isOver ? undefined : event.sandbox_seq);
      if (isOver) setPlaying(false);
      else frame = requestAnimationFrame(step);
    });
    return () => {
      cancelAnimationFrame(frame);
      const { events: log, at: here } = latest.current;
      tell(here >= (log.at(-1)?.sandbox_seq ?? 0) ? undefined : here);
    };
  }, [isPlaying, speed, tell]);

  return { at, isPlaying, film, filmMs, seek, seekFilm, toggle };
}
