/** The table of background passes; `main.ts` starts it. */
import type { Deps } from "./app/deps.ts";
import { forgetExpiredOnce } from "./app/forget-expired.ts";
import { provisionSandboxesOnce } from "./app/provision-sandboxes.ts";
import { reapSandboxesOnce } from "./app/reap-sandboxes.ts";
import { reconcileSandboxesOnce } from "./app/reconcile-sandboxes.ts";
import { watchSandboxesOnce } from "./app/watch-sandboxes.ts";

import { runGuardianOnce } from "./app/run-guardian.ts";
import { superviseRunsOnce } from "./app/supervise-runs.ts";

export interface LoopRow {
  readonly name: string;
  readonly everyMs: number;
  readonly pass: (deps: Deps, signal: AbortSignal) => Promise<unknown>;
}

export const LOOPS: readonly LoopRow[] = [
  { name: "forget-expired", everyMs: 60_000, pass: forgetExpiredOnce },
  { name: "reconcile-sandboxes", everyMs: 60_000, pass: reconcileSandboxesOnce },
  { name: "provision-sandboxes", everyMs: 1_000, pass: provisionSandboxesOnce },
  { name: "watch-sandboxes", everyMs: 5_000, pass: watchSandboxesOnce },
  { name: "supervise-runs", everyMs: 5_000, pass: superviseRunsOnce },
  { name: "run-guardian", everyMs: 60_000, pass: runGuardianOnce },
  { name: "reap-sandboxes", everyMs: 5_000, pass: reapSandboxesOnce },
];
