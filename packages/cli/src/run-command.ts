/** One run of the command line: finds the verb, runs it, and turns what it threw into words and an exit code. */
import { parseArguments } from "./arguments.ts";
import { describeError } from "./complaint.ts";
import { EXIT, toExitCode, UsageError } from "./exit-code.ts";
import { wrap } from "./terminal.ts";
import type { Context, Verb } from "./verb.ts";
import { VERBS } from "./verbs.ts";

const findVerb = (name: string): Verb => {
  const verb = VERBS.find((one) => one.name === name);
  if (verb === undefined) throw new UsageError(`there is no command ${JSON.stringify(name)}`);
  return verb;
};

async function dispatch(context: Context, argv: readonly string[]): Promise<number> {
  const [first = "help", ...rest] = argv;
  if (first === "--version" || first === "-v") {
    context.print(context.version);
    return EXIT.ok;
  }
  const verb = findVerb(first === "--help" || first === "-h" ? "help" : first);
  const args = parseArguments(verb, rest);
  if (!args.has("help")) return verb.run(context, args);
  const help = findVerb("help");
  return help.run(context, parseArguments(help, [verb.name]));
}

export async function runCommand(context: Context, argv: readonly string[]): Promise<number> {
  try {
    return await dispatch(context, argv);
  } catch (error) {
    // Whoever stopped it needs no words; a script must not take it for done.
    if (context.signal.aborted) return EXIT.interrupted;
    const complaint = `drover: ${describeError(error)}`;
    // Only words of our own are wrapped: a path or an address stays whole.
    const isUsage = error instanceof UsageError && error.message.startsWith("usage: ");
    context.warn(isUsage ? wrap(complaint, context.width).join("\n") : complaint);
    return toExitCode(error);
  }
}
