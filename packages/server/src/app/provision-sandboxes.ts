/** Makes the sandboxes that wait for it: stored first, then made, each step told, each failure named. */
import { AppError, TERMINAL_SANDBOX_STATES, type SandboxId } from "@drover/contract";
import type { SandboxInfo, SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";
import { claimUnmade, markProvisioned } from "../store/lifecycle.ts";
import { insertSandboxToken, loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import { ensureAgentInside, findAgentMounts } from "./agent-packages.ts";
import { hashSecret } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { fillWorkspace } from "./fill-workspace.ts";
import { draftSandboxEvent } from "./event-log.ts";
import { openEgress, withEgressEnv } from "./govern-egress.ts";
import { prepareResume } from "./resume-run.ts";
import { toSpec } from "./sandbox-key.ts";
import { ensureWorker, isWorkerBegun, toWorkerCommand } from "./worker-command.ts";
import { changeState, writeSandboxEvents } from "./change-state.ts";

/** Made at the same time. One that takes minutes holds up nobody while others have a place. */
const AT_ONCE = 8;
/** Stands where a token would: the real one is attached outside of the sandbox. */
const NO_TOKEN = "attached-outside";

async function tellStep<T>(
  deps: Deps,
  { id, signal }: { readonly id: SandboxId; readonly signal: AbortSignal },
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const startedMs = deps.clock.now().getTime();
  const tell = (status: string, more: Readonly<Record<string, string>> = {}) =>
    writeSandboxEvents(deps, id, (row) => [
      draftSandboxEvent(deps.ids, row, {
        eventType: "sandbox.provisioning",
        data: { step: name, status, duration_ms: deps.clock.now().getTime() - startedMs, ...more },
      }),
    ]);
  try {
    const result = await work();
    await tell("done");
    return result;
  } catch (error) {
    // One that is not wanted any more has not failed; one that the server leaves as it stops is made by the next.
    if (!signal.aborted) await tell("failed", { error: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}

/** A credential for the worker: behind the gate where the provider has one, else handed in. */
export async function admitWorker(
  deps: Deps,
  provider: SandboxProvider,
  ref: SandboxRef,
  row: SandboxRow,
): Promise<Readonly<Record<string, string>>> {
  const token = deps.ids.secret("sandbox");
  await insertSandboxToken(deps.db, hashSecret(token), row.id, row.generation, "worker");
  const directory = provider.capabilities.socketDirectory ? provider.socketDirectory(ref) : undefined;
  if (directory !== undefined) {
    await deps.gate.open(row.id, directory, token);
    await openEgress(deps, provider, row, directory);
  }
  // Not before: one that could not be admitted is tried again.
  deps.adopted.add(ref.key);
  return directory === undefined
    ? { SANDBOX_ID: row.id, CALLBACK_URL: deps.address(), SANDBOX_TOKEN: token }
    : { SANDBOX_ID: row.id, CALLBACK_URL: "unix:///run/cp/api.sock", SANDBOX_TOKEN: NO_TOKEN };
}

/** Agents refuse to do without permissions where nothing holds them in; this says that something does. */
const toIsolationEnv = ({ enforcedBy: { isolation } }: SandboxInfo): Readonly<Record<string, string>> =>
  isolation === "unsafe" || isolation === "none" ? {} : { IS_SANDBOX: "1" };

/** Everything that is there before the worker is. */
async function furnish(
  deps: Deps,
  provider: SandboxProvider,
  ref: SandboxRef,
  row: SandboxRow,
  signal: AbortSignal,
): Promise<void> {
  const step = { id: row.id, signal };
  if (row.repo !== null || row.branch !== null)
    await tellStep(deps, step, "repository", () => fillWorkspace(deps, provider, ref, row, signal));
  if (row.spec["resume_from"] !== undefined)
    await tellStep(deps, step, "resume", () => prepareResume(deps, row, signal));
}

async function provision(deps: Deps, id: SandboxId, signal: AbortSignal): Promise<void> {
  const known = await loadSandbox.one(deps.db, id);
  // A server that had it in hand has died. What it started may be at work, and have spoken, though nothing is noted of it.
  const isTakenUp = known.state !== "pending" && !TERMINAL_SANDBOX_STATES.has(known.state);
  const row = isTakenUp ? known : await changeState(deps, id, "provisioned", "provisioning");
  const provider = await deps.providers.open(row.provider);
  const spec = await withEgressEnv(deps, provider, row, {
    ...toSpec(deps.installation, row),
    ...(await findAgentMounts(deps, provider, row)),
  });
  const ref = await tellStep(deps, { id, signal }, "environment", () => provider.ensure(spec, signal));
  const info = await provider.info(ref, signal);
  if (info === undefined) throw new AppError("sandbox.unavailable", "the sandbox ended as soon as it was made");
  const isBegun = isTakenUp && (await isWorkerBegun(provider, ref, info, signal));
  if (!isBegun) await furnish(deps, provider, ref, row, signal);
  await tellStep(deps, { id, signal }, "worker", async () => {
    const admitted = await admitWorker(deps, provider, ref, row);
    if (!isBegun) {
      const agents = await ensureAgentInside(deps, provider, ref, row, signal);
      const env = { ...admitted, ...toIsolationEnv(info), AGENTS_DIR: agents };
      const worker = await ensureWorker(provider, ref, deps.workerBundle, signal);
      await provider.startDetached(ref, toWorkerCommand(worker, env), signal);
    }
    // Noted before it is told: whoever hears of it finds it in the row.
    await markProvisioned(deps.db, id, ref.id, info.enforcedBy);
  });
}

async function provisionOrFail(deps: Deps, id: SandboxId, signal: AbortSignal): Promise<void> {
  try {
    await provision(deps, id, signal);
  } catch (error) {
    if (signal.aborted) return;
    // Expected: the provider refuses or is away, or the sandbox was ended meanwhile. The row tells which.
    deps.log.warn("sandbox.provision_failed", { sandbox: id, reason: String(error) });
    const row = await loadSandbox.maybe(deps.db, id);
    if (row === undefined || TERMINAL_SANDBOX_STATES.has(row.state)) return;
    await changeState(deps, id, "failed", error instanceof AppError ? error.message : "provisioning failed");
  }
}

function startMaking(deps: Deps, id: SandboxId, signal: AbortSignal): void {
  const unwanted = new AbortController();
  const done = provisionOrFail(deps, id, AbortSignal.any([signal, unwanted.signal]))
    // Expected: the database is away. It is claimed again when its lease has run out.
    .catch((error: unknown) => deps.log.warn("sandbox.provision_untold", { sandbox: id, reason: String(error) }))
    .finally(() => {
      deps.making.delete(id);
      deps.wake("provision-sandboxes");
      deps.wake("reap-sandboxes");
    });
  deps.making.set(id, { done, end: () => unwanted.abort(new Error("the sandbox has ended")) });
}

/** Begins what can be begun and waits for none of it: whoever comes next would wait for the slowest. */
export async function provisionSandboxesOnce(deps: Deps, signal: AbortSignal): Promise<{ claimed: number }> {
  const { db, instance, host, making, providers } = deps;
  if (making.size >= AT_ONCE) return { claimed: 0 };
  const limit = AT_ONCE - making.size;
  const claimed = await claimUnmade(db, { owner: instance, host }, providers.names, [...making.keys()], limit);
  for (const { id } of claimed) startMaking(deps, id, signal);
  return { claimed: claimed.length };
}
