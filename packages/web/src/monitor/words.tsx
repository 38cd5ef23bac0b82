/** How far the guardian went, what came of it, and how the whole stands: icon and word. */
import type { Anomaly, Intervention } from "@drover/contract";
import {
  CircleCheck,
  CircleDashed,
  CircleHelp,
  CirclePause,
  CircleStop,
  CircleX,
  HeartCrack,
  HeartPulse,
  Hand,
  Megaphone,
  Minus,
  Moon,
  NotebookPen,
  TriangleAlert,
  type LucideIcon,
} from "lucide-react";
import { cx } from "../ui/class-names.ts";

interface Look {
  readonly icon: LucideIcon;
  readonly look: string;
  readonly word: string;
}

const RUNGS: Readonly<Record<Intervention["rung"], Look>> = {
  note: { icon: NotebookPen, look: "bg-sunken text-ink-2", word: "noted" },
  nudge: { icon: Megaphone, look: "bg-mind-soft text-mind", word: "nudged" },
  ask: { icon: Hand, look: "bg-wait-soft text-wait-ink", word: "asked a person" },
  pause: { icon: CirclePause, look: "bg-wait-soft text-wait-ink", word: "paused" },
  stop: { icon: CircleStop, look: "bg-fail-soft text-fail-ink", word: "stopped" },
};

const OUTCOMES: Readonly<Record<Intervention["outcome"], Look>> = {
  pending: { icon: CircleDashed, look: "text-ink-3", word: "not known yet" },
  helped: { icon: CircleCheck, look: "text-live-ink", word: "helped" },
  no_effect: { icon: Minus, look: "text-ink-3", word: "no effect" },
  harmful: { icon: CircleX, look: "text-fail-ink", word: "harmful" },
};

const HEALTHS: Readonly<Record<string, Look>> = {
  no_activity: { icon: Moon, look: "bg-sunken text-ink-2", word: "Nobody works" },
  unknown: { icon: CircleHelp, look: "bg-sunken text-ink-2", word: "Not judged" },
  optimal: { icon: HeartPulse, look: "bg-live-soft text-live-ink", word: "Very well" },
  good: { icon: HeartPulse, look: "bg-live-soft text-live-ink", word: "Well" },
  warning: { icon: TriangleAlert, look: "bg-wait-soft text-wait-ink", word: "Look at it" },
  critical: { icon: HeartCrack, look: "bg-fail-soft text-fail-ink", word: "In trouble" },
};

const UNKNOWN: Look = { icon: CircleHelp, look: "bg-sunken text-ink-2", word: "Unknown" };

function Pill({ look: { icon: Icon, look, word }, name }: { readonly look: Look; readonly name: string }) {
  return (
    <span
      data-word={name}
      className={cx(
        "inline-flex h-6 shrink-0 items-center gap-1.5 rounded-full pr-2.5 pl-2 text-xs font-semibold whitespace-nowrap",
        look,
      )}
    >
      <Icon size={13} aria-hidden /> {word}
    </span>
  );
}

export const RungBadge = ({ rung }: { readonly rung: Intervention["rung"] }) => <Pill look={RUNGS[rung]} name={rung} />;

export const SystemBadge = ({ health }: { readonly health: string }) => (
  <Pill look={HEALTHS[health] ?? UNKNOWN} name={health} />
);

const SEVERITIES: Readonly<Record<Anomaly["severity"], Look>> = {
  warning: { icon: TriangleAlert, look: "bg-wait-soft text-wait-ink", word: "warning" },
  critical: { icon: TriangleAlert, look: "bg-fail-soft text-fail-ink", word: "critical" },
};

export const SeverityBadge = ({ severity }: { readonly severity: Anomaly["severity"] }) => (
  <Pill look={SEVERITIES[severity]} name={severity} />
);

export function OutcomeWord({ outcome }: { readonly outcome: Intervention["outcome"] }) {
  const { icon: Icon, look, word } = OUTCOMES[outcome];
  return (
    <span
      data-outcome={outcome}
      className={cx("inline-flex items-center gap-1 text-xs font-medium whitespace-nowrap", look)}
    >
      <Icon size={13} aria-hidden /> {word}
    </span>
  );
}

/** `repeated_tool` -> `repeated tool`. */
export const toWords = (name: string): string => name.replaceAll("_", " ");

interface ScoreProps {
  readonly value: number;
  readonly label: string;
  /** More is worse. */
  readonly isTrouble?: boolean;
  /** Where nothing around it tells what the number is. */
  readonly isNamed?: boolean;
}

/** A score from 0 to 1 as a bar and a number. */
export function Score({ value, label, isTrouble = false, isNamed = false }: ScoreProps) {
  const good = isTrouble ? 1 - value : value;
  const tone = good >= 0.7 ? "bg-live" : good >= 0.4 ? "bg-wait" : "bg-fail";
  return (
    <span className="inline-flex items-center gap-2">
      {isNamed && (
        <span aria-hidden className="text-xs text-ink-3">
          {label}
        </span>
      )}
      <span
        role="img"
        aria-label={`${label} ${value.toFixed(2)}`}
        className="h-1.5 w-16 overflow-hidden rounded-full bg-line"
      >
        <span className={cx("block h-full rounded-full", tone)} style={{ width: `${value * 100}%` }} />
      </span>
      <span aria-hidden className="w-8 text-xs font-semibold tabular-nums">
        {value.toFixed(2)}
      </span>
    </span>
  );
}
