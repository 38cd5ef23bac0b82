/** Up to which event a person has looked at the changes of a run, kept in this browser. */
import { useEffect, useRef, useState } from "react";

interface Look {
  /** sandbox_seq of the newest event at the time. */
  readonly seq: number;
  /** When the person turned away, in milliseconds since the epoch. */
  readonly at: number;
  /** What the look itself was compared with. */
  readonly before: number;
}

const KEY = "drover.looks";
const KEPT = 200;
/** A page that is loaded again, or a glance at another tab, is still the same look. */
const SAME_LOOK_MS = 60_000;

type Looks = Readonly<Record<string, Look>>;

function readLooks(): Looks {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Looks;
  } catch {
    // Storage may be closed or hold something else: then nobody has looked.
    return {};
  }
}

function writeLook(sandboxId: string, look: Look): void {
  const { [sandboxId]: _, ...others } = readLooks();
  const kept = [...Object.entries(others), [sandboxId, look] as const].slice(-KEPT);
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Storage may be closed or full: the next look begins at the start again.
  }
}

/** The event up to which everything was seen before; 0 for who looks for the first time. */
const decideBase = (look: Look | undefined, now: number): number =>
  look === undefined ? 0 : now - look.at < SAME_LOOK_MS ? look.before : look.seq;

/** Where this look begins; it is noted when the person turns away. */
export function useLastLook(sandboxId: string, head: number): number {
  const [base] = useState(() => decideBase(readLooks()[sandboxId], Date.now()));
  const newest = useRef(head);
  useEffect(() => {
    newest.current = head;
  }, [head]);
  useEffect(() => {
    const note = () => {
      if (newest.current > 0) writeLook(sandboxId, { seq: newest.current, at: Date.now(), before: base });
    };
    window.addEventListener("pagehide", note);
    return () => {
      window.removeEventListener("pagehide", note);
      note();
    };
  }, [sandboxId, base]);
  return base;
}
