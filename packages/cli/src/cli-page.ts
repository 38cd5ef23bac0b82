/** The page about the command line, made from the verbs themselves: what it says is what `--help` says. */
import { VERBS } from "./verbs.ts";
import { formatOverview, formatVerb } from "./verbs/help.ts";

/** As wide as a terminal that nobody made larger. */
const WIDTH = 80;

const toBlock = (lines: readonly string[]): readonly string[] => ["```text", ...lines, "```", ""];

export function toCliPage(): string {
  return [
    "# Command line",
    "",
    "Written by `npm run gen` from `packages/cli/src/verbs`. Each block is what `drover <command> --help` prints. Every command takes",
    "`--json`; `drover completion bash|zsh|fish` prints completions for a shell.",
    "",
    ...toBlock(formatOverview(VERBS, WIDTH)),
    ...VERBS.flatMap((verb) => [`## ${verb.name}`, "", ...toBlock(formatVerb(verb, WIDTH))]),
  ]
    .join("\n")
    .replace(/\n+$/, "\n");
}
