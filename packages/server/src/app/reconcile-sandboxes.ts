/** Compares what providers hold under our labels with what the rows say: adopt, destroy or leave. */
import { decideFate, type KnownSandbox } from "@drover/core";
import type { SandboxId } from "@drover/contract";
import type { SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";
import { loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { admitWorker } from "./provision-sandboxes.ts";
import { installationLabels, parseLabels, toSpec } from "./sandbox-key.ts";
import { isElsewhere } from "./stand-elsewhere.ts";

export interface ReconcileReport {
  readonly adopted: number;
  readonly destroyed: number;
}

export const toKnown = (row: SandboxRow): KnownSandbox => ({
  state: row.state,
  generation: row.generation,
  isProvisioned: row.provisioned_at !== null,
  isClosed: row.closed_at !== null,
});

/** To stop a sandbox and to note it are two steps, and a server may die between them: the row is what was told to people. */
async function followRow(
  deps: Deps,
  provider: SandboxProvider,
  ref: SandboxRef,
  { id, isPaused }: { readonly id: SandboxId; readonly isPaused: boolean },
  signal: AbortSignal,
): Promise<void> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (!provider.capabilities.pause || row === undefined || (row.state === "paused") === isPaused) return;
  if (isPaused) await provider.resume(ref, signal);
  else await provider.pause(ref, signal);
}

async function settle(
  deps: Deps,
  provider: SandboxProvider,
  ref: SandboxRef,
  signal: AbortSignal,
): Promise<"adopted" | "destroyed" | "left"> {
  const labels = parseLabels(ref);
  if (labels === undefined) return "left";
  const row = await loadSandbox.maybe(deps.db, labels.sandboxId);
  const fate = decideFate(row === undefined ? undefined : toKnown(row), labels);
  if (fate === "destroy") {
    await provider.destroy(ref, signal);
    return "destroyed";
  }
  if (fate === "leave" || row === undefined || deps.adopted.has(ref.key)) return "left";
  // One engine may be seen by several replicas; the gate of a sandbox is kept by the one that made it.
  if (isElsewhere(deps, row)) return "left";
  const info = await provider.info(ref, signal);
  if (info?.state !== "running" && info?.state !== "paused") return "left";
  await provider.ensure(toSpec(deps.installation, row), signal);
  await admitWorker(deps, provider, ref, row);
  await followRow(deps, provider, ref, { id: row.id, isPaused: info.state === "paused" }, signal);
  return "adopted";
}

export async function reconcileSandboxesOnce(deps: Deps, signal: AbortSignal): Promise<ReconcileReport> {
  const counts = { adopted: 0, destroyed: 0, left: 0 };
  for (const name of deps.providers.names) {
    // Expected: a provider that is not set up on this machine has nothing of ours.
    const provider = await deps.providers.open(name).catch(() => undefined);
    const found = (await provider?.list(installationLabels(deps.installation), signal).catch(() => [])) ?? [];
    for (const ref of found) {
      if (provider === undefined) continue;
      const outcome = await settle(deps, provider, ref, signal).catch((error: unknown) => {
        deps.log.warn("sandbox.reconcile_failed", { key: ref.key, reason: String(error) });
        return "left" as const;
      });
      counts[outcome] += 1;
    }
  }
  return counts;
}
