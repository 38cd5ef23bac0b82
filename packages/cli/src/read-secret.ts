/** A secret from a file: on a command line anybody on the machine could read it. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "./exit-code.ts";
import type { Context } from "./verb.ts";

export function readSecret(context: Pick<Context, "cwd">, flag: string, path: string): string {
  try {
    return readFileSync(resolve(context.cwd, path), "utf8").trim();
  } catch (cause) {
    // Expected: a mistyped path.
    throw new UsageError(
      `--${flag} ${path} cannot be read (${cause instanceof Error ? cause.message : String(cause)})`,
    );
  }
}
