/** Where bubblewrap is, or what to do without it. */
import { access, constants } from "node:fs/promises";
import { AppError } from "@drover/contract";
import type { Log } from "../../ports/log.ts";

const BUBBLEWRAP = "/usr/bin/bwrap";

export interface BubblewrapOptions {
  readonly log: Log;
  /** Runs plain processes where there is no bubblewrap, instead of refusing. */
  readonly isUnsafe?: boolean;
  readonly bubblewrap?: string;
}

/** Undefined only where the operator said that no isolation is better than no sandbox. */
export async function findBubblewrap({
  bubblewrap = BUBBLEWRAP,
  isUnsafe,
  log,
}: BubblewrapOptions): Promise<string | undefined> {
  const missing = await access(bubblewrap, constants.X_OK).then(
    () => undefined,
    (cause: unknown) => ({ cause }),
  );
  if (missing === undefined) return bubblewrap;
  if (isUnsafe !== true)
    throw new AppError(
      "provider.unavailable",
      "provider local needs bubblewrap; install it (apt-get install bubblewrap)",
      missing,
    );
  log.warn("sandbox.unsafe", {
    meaning:
      "UNSAFE: there is no bubblewrap, and --unsafe-no-sandbox is set. Agents run as plain processes: they can read this machine's files and reach its network.",
  });
  return undefined;
}
