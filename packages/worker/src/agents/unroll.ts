/** A script's steps in the order they are played, repetitions written out; numbered from 0. Pure. */
import type { PlainStep, Step } from "./script.ts";

export interface NumberedStep {
  readonly step: PlainStep;
  readonly number: number;
  /** How often the innermost repetition has been through before. */
  readonly round: number;
}

function* unrollAll(steps: readonly Step[], round: number): Generator<{ step: PlainStep; round: number }> {
  for (const step of steps) {
    if (!("repeat" in step)) yield { step, round };
    else for (let i = 0; i < step.repeat.times; i++) yield* unrollAll(step.repeat.steps, i);
  }
}

/** Starts at step `from`, so that a restarted agent goes on where it was. */
export function* unroll(steps: readonly Step[], from: number): Generator<NumberedStep> {
  let number = 0;
  for (const { step, round } of unrollAll(steps, 0)) {
    if (number >= from) yield { step, number, round };
    number += 1;
  }
}

/** Fills `{{name}}`; unknown names stay as they are. */
export const fillTemplate = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) => values[name] ?? whole);
