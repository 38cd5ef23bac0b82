/** What an agent that works in iterations is asked. Pure. */
import type { Evidence } from "@drover/contract";

const ASKS: Readonly<Record<Evidence, string>> = {
  clean: "everything is committed",
  committed: "there is at least one new commit",
  pushed: "the branch is pushed to origin",
  tests: "the tests pass",
};

export interface Aim {
  readonly require: readonly Evidence[];
  /** What the agent says when it thinks that it is done. */
  readonly signal: string;
}

const toAsks = ({ require, signal }: Aim) =>
  [...require.map((one) => `- ${ASKS[one]}`), `When you think that it is so, say ${signal}.`].join("\n");

export const toFirstPrompt = (task: string, aim: Aim): string =>
  aim.require.length === 0
    ? task
    : `${task}\n\nThe work is done when this is so; it is checked, not taken from your word:\n${toAsks(aim)}`;

/** Feedback and notes are output of programs: marked as such, not as wishes of a person. */
export const toNextPrompt = (task: string, aim: Aim, errors: readonly string[], notes: string): string =>
  [
    "The work is not done yet. The task is still:",
    task,
    "It is done when:",
    toAsks(aim),
    "What the check found:",
    ...errors.map((error) => `<finding>\n${error}\n</finding>`),
    ...(notes === "" ? [] : [`Notes of earlier iterations:\n<notes>\n${notes}\n</notes>`]),
  ].join("\n");
