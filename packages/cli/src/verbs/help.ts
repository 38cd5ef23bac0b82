/** drover help: what there is, and how each is used. */
import { toFlags } from "../arguments.ts";
import { toVerbTable } from "../completion-script.ts";
import { EXIT, EXIT_DOCS, UsageError } from "../exit-code.ts";
import { formatFields } from "../table.ts";
import { wrap } from "../terminal.ts";
import type { Flag, Verb } from "../verb.ts";

const toFlagText = (flag: Flag): string =>
  `${flag.short === undefined ? "" : `-${flag.short}, `}--${flag.name}${flag.value === undefined ? "" : ` <${flag.value}>`}`;

const indent = (lines: readonly string[]) => lines.map((line) => `  ${line}`);

export function formatVerb(verb: Verb, width: number): readonly string[] {
  const flags = toFlags(verb);
  const left = Math.max(...flags.map((flag) => toFlagText(flag).length)) + 4;
  return [
    ...wrap(`drover ${verb.name} ${verb.usage}`.trim(), width),
    "",
    ...wrap(verb.summary, width),
    ...(verb.details === undefined ? [] : wrap(verb.details, width)),
    "",
    "Flags:",
    ...indent(formatFields(flags.map((flag) => [toFlagText(flag), wrap(flag.doc, width - left)]))),
  ];
}

export function formatOverview(verbs: readonly Verb[], width: number): readonly string[] {
  return [
    "drover <command> [flags]",
    "",
    "Commands:",
    ...indent(formatFields(verbs.map((verb) => [verb.name, wrap(verb.summary, width - 12)]))),
    "",
    ...wrap("`drover help <command>` explains one; `drover --version` tells the version; --json prints JSON.", width),
    "",
    ...wrap(
      "Server and token: --url and --token-file, else DROVER_URL and DROVER_TOKEN, else what `drover up` left in the data directory (DROVER_DATA_DIR). NO_COLOR switches colour off.",
      width,
    ),
    "",
    "Exit codes:",
    ...indent(formatFields(EXIT_DOCS.map(([code, meaning]) => [String(code), [meaning]]))),
  ];
}

export const toHelp = (verbs: () => readonly Verb[]): Verb => ({
  name: "help",
  summary: "Explain Drover, or one command.",
  usage: "[command]",
  flags: [],
  async run(context, args) {
    const [name] = args.positionals;
    const verb = verbs().find((one) => one.name === name);
    if (name !== undefined && verb === undefined) throw new UsageError(`there is no command ${JSON.stringify(name)}`);
    if (args.has("json")) {
      const table = toVerbTable(verb === undefined ? verbs() : [verb]);
      context.print(JSON.stringify(verb === undefined ? table : table[0], null, 2));
      return EXIT.ok;
    }
    const lines = verb === undefined ? formatOverview(verbs(), context.width) : formatVerb(verb, context.width);
    for (const line of lines) context.print(line);
    return EXIT.ok;
  },
});
