/** What an agent that works in iterations is asked. Pure. */
import type { Evidence } from "@drover/contract";

const ASKS: Readonly<Record<Evidence, string>> = {
  clean: "everything is committed",
  committed: "there is at least one new commit",
  pushed: "the branch is pushed to origin",
  tests: "the tests pass",
};

const toAsks = (require: readonly Evidence[]) => require.map((one) => `- ${ASKS[one]}`).join("\n");

export const toFirstPrompt = (task: string, require: readonly Evidence[]): string =>
  require.length === 0
    ? task
    : `${task}\n\nThe work is done when this is so; it is checked, not taken from your word:\n${toAsks(require)}`;

/** Feedback and notes are output of programs: marked as such, not as wishes of a person. */
export const toNextPrompt = (
  task: string,
  require: readonly Evidence[],
  errors: readonly string[],
  notes: string,
): string =>
  [
    "The work is not done yet. The task is still:",
    task,
    "It is done when:",
    toAsks(require),
    "What the check found:",
    ...errors.map((error) => `<finding>\n${error}\n</finding>`),
    ...(notes === "" ? [] : [`Notes of earlier iterations:\n<notes>\n${notes}\n</notes>`]),
  ].join("\n");
