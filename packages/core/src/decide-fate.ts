/** What is to become of a sandbox, from its row and from what its provider says. Pure, so that every case is in a table. */
import { TERMINAL_SANDBOX_STATES, type SandboxState } from "@drover/contract";

export interface KnownSandbox {
  readonly state: SandboxState;
  readonly generation: number;
  readonly isProvisioned: boolean;
  readonly isClosed: boolean;
}

/** What stands at the provider under our labels. */
export interface FoundSandbox {
  readonly generation: number;
}

export type Fate = "leave" | "adopt" | "destroy";

/** One that no row knows, of an older generation or of an ended sandbox, is destroyed; one still being made is left to its maker. */
export function decideFate(known: KnownSandbox | undefined, found: FoundSandbox): Fate {
  if (known === undefined || known.isClosed) return "destroy";
  if (found.generation !== known.generation) return found.generation < known.generation ? "destroy" : "leave";
  if (TERMINAL_SANDBOX_STATES.has(known.state)) return "destroy";
  return known.isProvisioned ? "adopt" : "leave";
}

export interface Observation {
  /** Undefined: the provider knows nothing of it. */
  readonly standing: "running" | "paused" | "stopped" | undefined;
  readonly reason: string | null;
  readonly isOomKilled: boolean;
  /** How the worker ended; null while it runs. */
  readonly workerExit: { readonly code: number | null; readonly signal: string | null } | null;
}

export type Verdict =
  | {
      readonly to: "failed" | "terminated";
      readonly cause: string;
      /** Nothing says that the run itself was at fault: in another sandbox it may go on. */
      readonly isLost: boolean;
    }
  | undefined;

const nameExit = (exit: { readonly code: number | null; readonly signal: string | null }): string =>
  exit.signal === null ? `worker exited with code ${exit.code ?? "unknown"}` : `worker killed by ${exit.signal}`;

/** A completed sandbox that ends was done; any other that ends has failed, and the cause says how. */
export function decideVerdict(state: SandboxState, seen: Observation): Verdict {
  if (TERMINAL_SANDBOX_STATES.has(state)) return undefined;
  const isOver = state === "completed";
  if (seen.standing === undefined)
    return { to: isOver ? "terminated" : "failed", cause: isOver ? "ended" : "the provider lost it", isLost: !isOver };
  if (seen.standing === "stopped") {
    const cause = seen.isOomKilled ? "out of memory" : (seen.reason ?? "it stopped");
    const isLost = !isOver && !seen.isOomKilled;
    return { to: isOver ? "terminated" : "failed", cause: isOver ? "ended" : cause, isLost };
  }
  if (seen.workerExit === null) return undefined;
  if (isOver) return { to: "terminated", cause: "the worker left", isLost: false };
  const isKilled = seen.workerExit.signal === "SIGKILL" || seen.workerExit.code === 137;
  const isOutOfMemory = seen.isOomKilled && isKilled;
  return {
    to: "failed",
    cause: isOutOfMemory ? "out of memory" : nameExit(seen.workerExit),
    isLost: isKilled && !isOutOfMemory,
  };
}
