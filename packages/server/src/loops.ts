/** The table of background passes; `main.ts` starts it. */
import type { Deps } from "./app/deps.ts";
import { forgetExpiredOnce } from "./app/forget-expired.ts";

export interface LoopRow {
  readonly name: string;
  readonly everyMs: number;
  readonly pass: (deps: Deps) => Promise<unknown>;
}

export const LOOPS: readonly LoopRow[] = [{ name: "forget-expired", everyMs: 60_000, pass: forgetExpiredOnce }];
