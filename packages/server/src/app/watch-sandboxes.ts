/** Compares running sandboxes with what their provider sees, and names what ended them. */
import { decideVerdict, type Observation } from "@drover/core";
import { AppError, type SandboxId, type SandboxState } from "@drover/contract";
import type { SandboxInfo } from "../ports/sandbox-provider.ts";
import { listOpen } from "../store/lifecycle.ts";
import { loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import { changeState } from "./change-state.ts";
import type { Deps } from "./deps.ts";
import { isReplaceable, replaceLost } from "./replace-lost.ts";
import { toRef } from "./sandbox-key.ts";
import { draftEscalation } from "./tell-restart.ts";
import { findWorkerExit } from "./worker-command.ts";

const BATCH = 500;
const WATCHED: readonly SandboxState[] = ["creating", "running", "paused", "completing", "completed"];
/** A worker that has not said a word by then will not. */
const FIRST_WORD_MS = 5 * 60 * 1_000;

function toObservation(info: SandboxInfo | undefined): Observation {
  const exit = findWorkerExit(info);
  return {
    standing: info?.state,
    reason: info?.reason ?? null,
    isOomKilled: info?.isOomKilled ?? false,
    workerExit: exit === undefined ? null : { code: exit.code, signal: exit.signal },
  };
}

function isMute(row: SandboxRow, now: Date): boolean {
  return (
    row.state === "creating" &&
    row.provisioned_at !== null &&
    now.getTime() - row.provisioned_at.getTime() > FIRST_WORD_MS
  );
}

async function watch(deps: Deps, id: SandboxId, signal: AbortSignal): Promise<boolean> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined || row.provisioned_at === null) return false;
  const provider = await deps.providers.open(row.provider);
  const verdict = decideVerdict(row.state, toObservation(await provider.info(toRef(deps.installation, row), signal)));
  if (verdict?.isLost === true && (await isReplaceable(deps, row))) await replaceLost(deps, row, verdict.cause, signal);
  else if (verdict !== undefined) {
    const { sandboxReplacements } = deps.config;
    const isUsedUp = verdict.isLost && row.generation > sandboxReplacements;
    await changeState(deps, id, verdict.to, verdict.cause, (lost) =>
      isUsedUp ? [draftEscalation(deps, lost, verdict.cause, sandboxReplacements)] : [],
    );
  } else if (isMute(row, deps.clock.now())) await changeState(deps, id, "failed", "the worker did not start");
  else return false;
  return true;
}

export async function watchSandboxesOnce(deps: Deps, signal: AbortSignal): Promise<{ ended: number }> {
  let ended = 0;
  for (const { id } of await listOpen(deps.db, deps.host, WATCHED, BATCH)) {
    // Expected: the provider is away, or the state changed under us. Nothing is concluded from not being able to look.
    const isEnded = await watch(deps, id, signal).catch((error: unknown) => {
      deps.log.debug("sandbox.watch_failed", {
        sandbox: id,
        reason: error instanceof AppError ? error.message : String(error),
      });
      return false;
    });
    if (isEnded) ended += 1;
  }
  return { ended };
}
