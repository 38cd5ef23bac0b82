/** Flags of the form `--env name=value`. */
import { UsageError } from "./exit-code.ts";
import type { Arguments, Verb } from "./verb.ts";

export function parseAssignments(verb: Verb, args: Arguments, flag: string): Record<string, string> {
  return Object.fromEntries(
    args.all(flag).map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw new UsageError(`--${flag} takes name=value, not ${JSON.stringify(text)}`, verb.name);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
