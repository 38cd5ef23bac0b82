/** Reads the command line of a verb; what is not understood is a UsageError that says so. */
import { parseArgs, type ParseArgsConfig } from "node:util";
import { UsageError } from "./exit-code.ts";
import type { Arguments, Flag, Verb } from "./verb.ts";

const EVERY_VERB: readonly Flag[] = [
  { name: "json", doc: "Print JSON instead of text for people." },
  { name: "help", short: "h", doc: "Explain this command." },
];

const REMOTE_VERBS: readonly Flag[] = [
  { name: "url", value: "address", doc: "Address of the server." },
  { name: "token-file", value: "path", doc: "File that holds a token." },
];

export const toFlags = (verb: Verb): readonly Flag[] => [
  ...verb.flags,
  ...(verb.isRemote === true ? REMOTE_VERBS : []),
  ...EVERY_VERB,
];

const toOption = (flag: Flag) => ({
  type: flag.value === undefined ? ("boolean" as const) : ("string" as const),
  ...(flag.short === undefined ? {} : { short: flag.short }),
  ...(flag.many === undefined ? {} : { multiple: true as const }),
});

export function parseArguments(verb: Verb, argv: readonly string[]): Arguments {
  const options: NonNullable<ParseArgsConfig["options"]> = Object.fromEntries(
    toFlags(verb).map((flag) => [flag.name, toOption(flag)]),
  );
  const { values, positionals } = parse(verb, argv, options);
  const all = (name: string) => [values[name] ?? []].flat().filter((value) => typeof value === "string");
  return { positionals, all, get: (name) => all(name).at(-1), has: (name) => values[name] === true };
}

function parse(verb: Verb, argv: readonly string[], options: NonNullable<ParseArgsConfig["options"]>) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    // Expected: an unknown flag or a missing value; Node's first sentence says which.
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(message.split(/\.\s/)[0] ?? message, verb.name);
  }
}

/** Exactly the named positionals; the last may be `...` for one or more. */
export function takePositionals(verb: Verb, args: Arguments, least: number, most: number): readonly string[] {
  const { length } = args.positionals;
  if (length >= least && length <= most) return args.positionals;
  throw new UsageError(`usage: drover ${verb.name} ${verb.usage}`, verb.name);
}

export function parseCount(verb: Verb, args: Arguments, flag: string): number | undefined {
  const text = args.get(flag);
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`--${flag} takes a whole number, not ${JSON.stringify(text)}`, verb.name);
}
