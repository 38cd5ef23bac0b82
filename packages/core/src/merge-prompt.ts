/** What an agent is told that merges branches which conflict. */

export interface ConflictingBranch {
  readonly branch: string;
  /** The task whose work it is. */
  readonly title: string;
  readonly description: string | null;
  readonly files: readonly string[];
}

const SHOWN_FILES = 50;
const SHOWN_CHARACTERS = 4_000;

const toBranch = ({ branch, title, description, files }: ConflictingBranch): string =>
  [
    `- \`origin/${branch}\`: ${title}`,
    ...(description === null ? [] : [`  ${description.slice(0, SHOWN_CHARACTERS).replaceAll("\n", "\n  ")}`]),
    `  conflicts in: ${files.slice(0, SHOWN_FILES).join(", ")}`,
  ].join("\n");

/** `tests`: what is run on the result afterwards, if anything is. */
export function toMergePrompt(
  target: string,
  branches: readonly ConflictingBranch[],
  tests: readonly string[] | undefined,
): string {
  return [
    `Your branch stands where \`${target}\` does. Merge these branches into it, in this order:`,
    branches.map(toBranch).join("\n"),
    `For each: \`git fetch origin\`, \`git merge origin/<branch>\`, and resolve what conflicts so that the intent of both sides is kept: combine
them where they are compatible, otherwise decide by what the tasks say. Change nothing that no conflict asks for. Leave no conflict
markers. Commit each merge and push with \`git push origin HEAD\`; never force.`,
    ...(tests === undefined
      ? []
      : [`These tests must pass on the result: \`${tests.join(" ")}\`. Run them before you push.`]),
    "Where you cannot tell what is right, push nothing and say why: a person will decide.",
  ].join("\n\n");
}
