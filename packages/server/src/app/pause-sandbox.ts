/** Stops everything in a sandbox where it stands, and lets it go on. */
import { step, SANDBOX, type SandboxTrigger } from "@drover/core";
import { AppError, type Sandbox, type SandboxId, type SandboxState } from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import { loadSandbox, lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import { changeState } from "./change-state.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftTransition, writeWithEvents } from "./event-log.ts";
import { loadStanding, type Standing } from "./load-standing.ts";
import { getSandbox } from "./manage-sandboxes.ts";

type Trigger = Extract<SandboxTrigger, "paused" | "resumed">;

const VERBS: Readonly<Record<Trigger, string>> = { paused: "pause", resumed: "resume" };

const refuse = (row: SandboxRow, on: Trigger) =>
  new AppError("sandbox.illegal_transition", `a sandbox that is ${row.state} cannot be ${on}`);

async function loadFor(deps: Deps, id: SandboxId, on: Trigger): Promise<Standing> {
  const standing = await loadStanding(deps, id);
  const { row, provider } = standing;
  if (!step<SandboxState, SandboxTrigger>(SANDBOX, row.state, on).ok) throw refuse(row, on);
  if (!provider.capabilities.pause)
    throw new AppError("sandbox.rejected", `provider ${provider.name} cannot ${VERBS[on]} sandboxes`);
  return standing;
}

async function tell(deps: Deps, actor: Person, id: SandboxId, on: Trigger): Promise<Sandbox> {
  await writeWithEvents(deps, async (tx, append) => {
    const [row] = await lockSandboxes(tx, [id]);
    if (row === undefined) throw new AppError("sandbox.not_found");
    const next = step<SandboxState, SandboxTrigger>(SANDBOX, row.state, on);
    if (!next.ok) throw refuse(row, on);
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: `sandbox.${VERBS[on]}`,
      target: id,
      project_id: row.project_id,
      detail: {},
      request_id: null,
    });
    await append([draftTransition(deps.ids, row, { from: row.state, to: next.to, cause: "user" }, null)]);
  });
  return getSandbox(deps, id);
}

/** Stopped first and told then: what it said before still counts. */
export async function pauseSandbox(deps: Deps, actor: Person, id: SandboxId, signal: AbortSignal): Promise<Sandbox> {
  const { provider, ref } = await loadFor(deps, id, "paused");
  await provider.pause(ref, signal);
  return tell(deps, actor, id, "paused").catch(async (error: unknown) => {
    // Expected: its work ended meanwhile, or another paused it too. Nothing that is not paused stays stopped.
    const now = await loadSandbox.maybe(deps.db, id);
    if (now?.state !== "paused") await provider.resume(ref, signal);
    throw error;
  });
}

/** Told first: what it says from its first moment on counts. Of one that we did not make only the budget's pause is lifted. */
export async function resumeSandbox(deps: Deps, actor: Person, id: SandboxId, signal: AbortSignal): Promise<Sandbox> {
  const known = await loadSandbox.maybe(deps.db, id);
  if (known?.provider === "external" && known.state === "paused") return tell(deps, actor, id, "resumed");
  const { provider, ref } = await loadFor(deps, id, "resumed");
  const resumed = await tell(deps, actor, id, "resumed");
  await provider.resume(ref, signal).catch(async (error: unknown) => {
    // Expected: the provider is away. It still stands still, and the row says so.
    await changeState(deps, id, "paused", "it could not be resumed");
    throw error;
  });
  return resumed;
}
