/** What the guardian does about signs of trouble: how far it goes, when it keeps still, and whether it helped. */
import type { Signal, SignalName, Standing } from "./signals/signal.ts";

export const RUNGS = ["note", "nudge", "ask", "pause", "stop"] as const;
export type Rung = (typeof RUNGS)[number];

export const GUARDIAN_MODES = ["shadow", "nudge", "full"] as const;
export type GuardianMode = (typeof GUARDIAN_MODES)[number];

/** How far each mode may go. */
const HIGHEST: Readonly<Record<GuardianMode, Rung>> = { shadow: "note", nudge: "ask", full: "stop" };

/** Where a signal begins. What only a person can mend is not said to the agent. */
const FIRST: Readonly<Record<SignalName, Readonly<Record<Signal["level"], Rung>>>> = {
  repeated_tool: { note: "note", warning: "nudge", critical: "pause" },
  error_streak: { note: "note", warning: "nudge", critical: "ask" },
  no_progress: { note: "note", warning: "nudge", critical: "ask" },
  token_burn: { note: "note", warning: "nudge", critical: "ask" },
  outside_ownership: { note: "note", warning: "nudge", critical: "ask" },
  constraint_broken: { note: "note", warning: "nudge", critical: "ask" },
  context_full: { note: "note", warning: "note", critical: "note" },
  waiting_for_answer: { note: "ask", warning: "ask", critical: "ask" },
  finished_not_ended: { note: "note", warning: "nudge", critical: "nudge" },
  judged_drift: { note: "note", warning: "nudge", critical: "ask" },
};

/** Where a signal ends, whatever the mode: nobody is stopped because a person takes his time, or for having finished. */
const LAST: Readonly<Partial<Record<SignalName, Rung>>> = { waiting_for_answer: "ask", finished_not_ended: "ask" };

export type Outcome = "pending" | "helped" | "no_effect" | "harmful";

export interface PastIntervention {
  readonly signal: string;
  readonly rung: Rung;
  readonly atMs: number;
  readonly outcome: Outcome;
}

export interface GuardianSettings {
  readonly mode: GuardianMode;
  readonly coolDownMs: number;
  readonly mostPerSandbox: number;
}

export interface Intention {
  readonly signal: Signal;
  readonly rung: Rung;
}

const rank = (rung: Rung): number => RUNGS.indexOf(rung);

function toRung(signal: Signal, history: readonly PastIntervention[], mode: GuardianMode): Rung {
  const failed = history.filter(
    (past) => past.signal === signal.signal && past.outcome === "no_effect" && past.rung !== "note",
  );
  const first = rank(FIRST[signal.signal][signal.level]);
  // A note is a note; anything that was tried and did not help is followed by the next rung.
  const wanted = first === 0 ? 0 : first + failed.length;
  return RUNGS[Math.min(wanted, rank(LAST[signal.signal] ?? "stop"), rank(HIGHEST[mode]))] ?? "note";
}

/** Nothing is said twice while it is not known whether it helped, nothing within the cool-down, nothing beyond the maximum.
 *  Notes are free, and told once per signal. */
export function decideIntervention(
  signals: readonly Signal[],
  history: readonly PastIntervention[],
  settings: GuardianSettings,
  nowMs: number,
): Intention | undefined {
  const spoken = history.filter((past) => past.rung !== "note");
  const isQuiet =
    spoken.length >= settings.mostPerSandbox || spoken.some((past) => nowMs - past.atMs < settings.coolDownMs);
  const intentions = signals
    .map((signal): Intention => ({ signal, rung: toRung(signal, history, settings.mode) }))
    .filter(({ signal, rung }) => {
      const past = history.filter((one) => one.signal === signal.signal);
      if (rung === "note") return past.length === 0;
      return !isQuiet && !past.some((one) => one.outcome === "pending" && one.rung !== "note");
    });
  return intentions.toSorted((a, b) => rank(b.rung) - rank(a.rung))[0];
}

/** What the agent is told; it says what was seen and leaves the way out to the agent. */
const ADVICE: Readonly<Record<Exclude<SignalName, "judged_drift">, string>> = {
  repeated_tool:
    "You are repeating the same call with the same result. Stop, say what you expected from it, and try something else.",
  error_streak:
    "Your last calls all failed. Read the first error again before you go on, and change one thing at a time.",
  no_progress:
    "You have looked at the same things for many turns without a change. State what is missing, then make the smallest change that moves the task on, or say what blocks you.",
  token_burn:
    "You have used very many tokens since your last change. Make the smallest useful change now, or say what blocks you.",
  outside_ownership:
    "You have changed files that do not belong to this task. Undo those changes and stay within the files you were given.",
  constraint_broken: "You have done something you were asked not to do. Undo it and keep to what you were told.",
  context_full: "The model's window is nearly full. Write down what matters before you go on.",
  waiting_for_answer: "A person has been asked.",
  finished_not_ended: "If the work is done, end your turn by completing the task; if not, go on with the next step.",
};

const toAdvice = ({ signal, detail }: Signal): string =>
  signal === "judged_drift" ? detail : `${ADVICE[signal]} (Seen: ${detail}.)`;

export const toNudge = ({ signal }: Intention): string =>
  `[GUARDIAN INTERVENTION - ${signal.level === "critical" ? "correction" : "guidance"}] ${toAdvice(signal)}`;

export interface Aftermath {
  readonly rung: Rung;
  /** Whether the agent was given the nudge; a rung that says nothing to it needs no receipt. */
  readonly isInjected: boolean;
  /** Calls since then. */
  readonly steps: number;
  /** How the sign stands now; unknown where only a judge can tell and none has since. */
  readonly standing: Standing | "unknown";
  /** Errors that began afterwards, or the agent gave up. */
  readonly isWorse: boolean;
  /** Completed by its own word, or ended by others. */
  readonly end: "none" | "completed" | "ended";
  readonly elapsedMs: number;
}

const STEPS_TO_JUDGE = 5;
const LONGEST_WAIT_MS = 15 * 60_000;

/** By rule: it helped if the agent went on and does it no more, not even a little; it did harm if what followed was worse. What was only
 *  noted has no effect. */
export function decideOutcome({ rung, isInjected, steps, standing, isWorse, end, elapsedMs }: Aftermath): Outcome {
  if (rung === "note") return "no_effect";
  if (isWorse) return "harmful";
  if (end === "completed")
    return isInjected && (standing === "gone" || standing === "lingering") ? "helped" : "no_effect";
  // Who was asked has decided; who was spoken to was ended all the same.
  if (end === "ended") return rung === "nudge" ? "no_effect" : "helped";
  const hasGoneOn = isInjected && steps >= STEPS_TO_JUDGE;
  if (hasGoneOn && standing === "there") return "no_effect";
  if (hasGoneOn && standing === "gone") return "helped";
  // A person may take his time, and without a verdict nobody knows.
  const isWaitOver = rung === "nudge" && elapsedMs >= LONGEST_WAIT_MS && !(isInjected && standing === "unknown");
  return isWaitOver ? "no_effect" : "pending";
}
