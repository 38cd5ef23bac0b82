/** Whether a rule fires or is over: by what was measured, for how long it holds, and when it last spoke. */

export interface AlertCondition {
  readonly comparison: "above" | "below";
  readonly threshold: number;
  readonly forMs: number;
  readonly coolDownMs: number;
}

export interface AlertStanding {
  /** Undefined: nothing was measured, so nothing is concluded. */
  readonly value: number | undefined;
  /** Since when the condition holds, as far as it was seen. */
  readonly sinceMs: number | null;
  readonly isFiring: boolean;
  /** When the last one of this rule fired that people were told of. */
  readonly toldMs: number | null;
}

export type AlertAct =
  | { readonly kind: "none" }
  /** It holds, but not long enough yet. */
  | { readonly kind: "wait" }
  | { readonly kind: "fire"; readonly isQuiet: boolean }
  | { readonly kind: "resolve" };

const isBreached = ({ comparison, threshold }: AlertCondition, value: number): boolean =>
  comparison === "above" ? value > threshold : value < threshold;

export function decideAlert(rule: AlertCondition, standing: AlertStanding, nowMs: number): AlertAct {
  const { value, sinceMs, isFiring, toldMs } = standing;
  if (value === undefined) return { kind: "none" };
  if (!isBreached(rule, value)) return isFiring ? { kind: "resolve" } : { kind: "none" };
  if (isFiring) return { kind: "none" };
  if (nowMs - (sinceMs ?? nowMs) < rule.forMs) return { kind: "wait" };
  return { kind: "fire", isQuiet: toldMs !== null && nowMs - toldMs < rule.coolDownMs };
}
