/** Scripts with which a shell completes the command line; made from the table of verbs, so that they cannot lag behind. */
import { toFlags } from "./arguments.ts";
import type { Verb } from "./verb.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** Words of a usage that stand for themselves: `create` of `[list] | create <scope>`. */
const toActions = ({ usage }: Verb): readonly string[] => [
  ...new Set(
    usage
      .split(/\s\|\s/)
      .flatMap((part) => /^\[?([a-z][a-z|-]*)\]?/.exec(part.trim())?.[1]?.split("|") ?? [])
      .filter((word) => word !== "flags" && word !== "command" && word !== "id"),
  ),
];

const flagsOf = (verb: Verb) => toFlags(verb).map(({ name }) => `--${name}`);
/** Within single quotes of a shell. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function toBash(verbs: readonly Verb[]): string {
  const cases = verbs.map(
    (verb) => `    ${verb.name}) words=${quote([...toActions(verb), ...flagsOf(verb)].join(" "))} ;;`,
  );
  return [
    "# drover completion bash > /etc/bash_completion.d/drover, or: source <(drover completion bash)",
    "_drover() {",
    '  local current="${COMP_WORDS[COMP_CWORD]}" words=""',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    words=${quote(verbs.map(({ name }) => name).join(" "))}`,
    '  else case "${COMP_WORDS[1]}" in',
    ...cases,
    "  esac; fi",
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    "}",
    "complete -o default -F _drover drover",
  ].join("\n");
}

function toZsh(verbs: readonly Verb[]): string {
  const describe = (name: string, text: string) => quote(`${name.replaceAll(":", "\\:")}:${text}`);
  const cases = verbs.map((verb) => {
    const actions = toActions(verb).map((word) => describe(word, ""));
    const flags = toFlags(verb).map(({ name, doc }) => describe(`--${name}`, doc));
    return `    ${verb.name}) choices=(${[...actions, ...flags].join(" ")}) ;;`;
  });
  return [
    "#compdef drover",
    '# drover completion zsh > "${fpath[1]}/_drover"',
    "_drover() {",
    "  local -a choices",
    "  if (( CURRENT == 2 )); then",
    `    choices=(${verbs.map(({ name, summary }) => describe(name, summary)).join(" ")})`,
    "  else case $words[2] in",
    ...cases,
    "  esac; fi",
    "  _describe drover choices",
    "}",
    // As a file of fpath this is the body of `_drover` itself, so that the first call has to answer too; sourced, it only says who completes.
    'if [[ "$funcstack[1]" = _drover ]]; then _drover "$@"; else compdef _drover drover; fi',
  ].join("\n");
}

function toFish(verbs: readonly Verb[]): string {
  const lines = verbs.flatMap((verb) => {
    const seen = `-n ${quote(`__fish_seen_subcommand_from ${verb.name}`)}`;
    return [
      `complete -c drover -n __fish_use_subcommand -f -a ${verb.name} -d ${quote(verb.summary)}`,
      ...toActions(verb).map((word) => `complete -c drover ${seen} -a ${word}`),
      ...toFlags(verb).map(
        ({ name, short, value, doc }) =>
          `complete -c drover ${seen} -l ${name}${short === undefined ? "" : ` -s ${short}`}${value === undefined ? "" : " -r"} -d ${quote(doc)}`,
      ),
    ];
  });
  return ["# drover completion fish > ~/.config/fish/completions/drover.fish", ...lines].join("\n");
}

const WRITERS: Readonly<Record<Shell, (verbs: readonly Verb[]) => string>> = { bash: toBash, zsh: toZsh, fish: toFish };

/** The same as data. */
export const toVerbTable = (verbs: readonly Verb[]) =>
  verbs.map((verb) => ({
    name: verb.name,
    summary: verb.summary,
    usage: verb.usage,
    actions: toActions(verb),
    flags: toFlags(verb).map(({ name, short, value, doc }) => ({ name, short, value, doc })),
  }));

export const toCompletion = (shell: Shell, verbs: readonly Verb[]): string => WRITERS[shell](verbs);
