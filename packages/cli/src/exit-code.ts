/** What the exit code of a command says; scripts may rely on it. */
import { ClientError } from "@drover/client";

export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, refused: 4, interrupted: 130 } as const;

export const EXIT_DOCS: readonly (readonly [number, string])[] = [
  [EXIT.ok, "done"],
  [EXIT.failed, "failed"],
  [EXIT.usage, "the command line was not understood"],
  [EXIT.unreachable, "no server could be reached"],
  [EXIT.refused, "the server refused (no right, no such thing, not in this state)"],
  [EXIT.interrupted, "stopped by Ctrl-C or SIGTERM before it was done"],
];

/** The command line was not understood; `verb` says whose usage helps. */
export class UsageError extends Error {
  readonly verb: string | undefined;

  constructor(message: string, verb?: string) {
    super(message);
    this.name = "UsageError";
    this.verb = verb;
  }
}

/** No server is known, or none answers. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

export function toExitCode(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof UnreachableError) return EXIT.unreachable;
  if (!(error instanceof ClientError)) return EXIT.failed;
  if (error.code === "client.unreachable") return EXIT.unreachable;
  return error.status >= 400 && error.status < 500 ? EXIT.refused : EXIT.failed;
}
