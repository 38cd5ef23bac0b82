/** A race: two sandboxes with one task, and who is left when somebody has chosen. */
import type { Sandbox } from "@drover/contract";

/** Both carry it, with the same value. */
export const RACE_LABEL = "race";

export const isRace = (one: Pick<Sandbox, "labels">, other: Pick<Sandbox, "labels">): boolean =>
  one.labels[RACE_LABEL] !== undefined && one.labels[RACE_LABEL] === other.labels[RACE_LABEL];

type Runner = Pick<Sandbox, "labels" | "state">;

/** Who loses is terminated, so the one that was not has won; undefined while both stand, or neither does. */
export function findWinner<T extends Runner>(a: T, b: T): T | undefined {
  const [isAOut, isBOut] = [a.state === "terminated", b.state === "terminated"];
  if (!isRace(a, b) || isAOut === isBOut) return undefined;
  return isAOut ? b : a;
}
