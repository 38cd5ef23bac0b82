/** This browser's connection in a word, and behind it the proof that nothing is missing. */
import type { StreamState } from "@drover/client";
import { useQuery } from "@tanstack/react-query";
import { CloudOff, LoaderCircle, LockKeyhole, Radio, RotateCw, ShieldCheck } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { useConnection } from "../data/connection.ts";
import { formatAge, formatCount, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { headQuery } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";

/** A cut shorter than this is not worth a word. */
const UNSAID_MS = 2_000;

interface Said {
  readonly word: string;
  readonly icon: typeof Radio;
  readonly look: string;
  readonly isTurning?: boolean;
}

/** How long the count of what was caught up stays. */
const TOLD_MS = 2_500;

const LIVE: Said = { word: "Live", icon: Radio, look: "text-live-ink" };

function say(state: StreamState, now: number): Said {
  switch (state.phase) {
    case "live":
      return LIVE;
    case "connecting":
      return { word: "Connecting", icon: LoaderCircle, look: "text-ink-2", isTurning: true };
    case "catching-up":
      return {
        word: state.count > 0 ? `Catching up ${formatCount(state.count)}` : "Catching up",
        icon: LoaderCircle,
        look: "text-ink-2",
        isTurning: true,
      };
    case "reconnecting":
    case "offline":
      if (now - state.since < UNSAID_MS) return LIVE;
      return { word: state.phase === "offline" ? "Offline" : "Reconnecting", icon: CloudOff, look: "text-wait-ink" };
    case "unauthenticated":
    case "forbidden":
      return { word: "Signed out", icon: LockKeyhole, look: "text-fail-ink" };
    case "closed":
      return { word: "Stopped", icon: CloudOff, look: "text-ink-2" };
  }
}

function Proof({
  sandboxId,
  head,
  gaps,
}: {
  readonly sandboxId: string;
  readonly head: number;
  readonly gaps: number;
}) {
  const { reconnects, duplicates } = useConnection();
  const server = useQuery(headQuery(sandboxId));
  const told = server.data?.event_count;
  const isEqual = told !== undefined && head >= told;
  return (
    <div data-testid="proof">
      <p className={cx("flex items-center gap-2 text-sm font-semibold", isEqual ? "text-live-ink" : "text-ink-2")}>
        <ShieldCheck size={16} aria-hidden />
        head {formatCount(head)} {isEqual ? "=" : "of"} server{" "}
        {told === undefined ? "…" : formatCount(isEqual ? head : told)}
      </p>
      <p className="mt-1 text-xs text-ink-2 tabular-nums">
        0 gaps{gaps > 0 && ` (${formatCount(gaps)} healed)`} · {plural(reconnects, "reconnect")} ·{" "}
        {plural(duplicates, "duplicate")} dropped
      </p>
    </div>
  );
}

/** What was caught up after the line was cut, for a moment. */
function useCaughtUp(state: StreamState, reconnects: number): number | undefined {
  const last = useRef(0);
  const [told, setTold] = useState<number>();
  useEffect(() => {
    if (state.phase === "catching-up") last.current = state.count;
    if (state.phase !== "live" || reconnects === 0 || last.current === 0) return undefined;
    setTold(last.current);
    last.current = 0;
    const timer = setTimeout(() => setTold(undefined), TOLD_MS);
    return () => clearTimeout(timer);
  }, [state, reconnects]);
  return state.phase === "live" ? told : undefined;
}

export function ConnectionPill() {
  const now = useNow();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const { state, run, reconnects, duplicates, lastEventAt, wake } = useConnection();
  const { word, icon: Icon, look, isTurning } = say(state, now);
  const caughtUp = useCaughtUp(state, reconnects);
  const isAway = state.phase === "reconnecting" || state.phase === "offline";
  // The browser's own popover: above everything, closed by Escape and by a click elsewhere.
  return (
    <>
      <button
        type="button"
        popoverTarget={id}
        data-testid="connection"
        data-phase={state.phase}
        className={cx(
          "inline-flex h-8 items-center gap-1.5 rounded-full border border-line bg-surface px-3 text-xs font-semibold hover:bg-hover",
          look,
        )}
      >
        <Icon size={14} aria-hidden className={cx(isTurning && "animate-spin")} />
        {caughtUp === undefined ? word : `Caught up ${plural(caughtUp, "event")}`}
      </button>
      <div
        id={id}
        popover="auto"
        role="dialog"
        aria-label="Connection"
        onToggle={(event) => setOpen(event.newState === "open")}
        className="inset-auto top-14 right-3 w-76 rounded-xl border border-line bg-raised p-4 text-ink shadow-lift open:animate-enter"
      >
        {run === undefined ? (
          <p className="text-sm text-ink-2">
            Following all sandboxes: {plural(reconnects, "reconnect")}, {plural(duplicates, "duplicate")} dropped.
          </p>
        ) : (
          isOpen && <Proof sandboxId={run.sandboxId} head={run.head} gaps={run.gaps} />
        )}
        {lastEventAt !== undefined && (
          <p className="mt-2 text-xs text-ink-3">Last event received {formatAge(now - lastEventAt)} ago.</p>
        )}
        {isAway && (
          <div className="mt-3 flex items-center justify-between gap-3 text-xs text-ink-2">
            Next try in {formatAge(Math.max(0, state.retryAt - now))}
            <Button size="small" onClick={wake}>
              <RotateCw size={13} /> Retry now
            </Button>
          </div>
        )}
      </div>
    </>
  );
}
