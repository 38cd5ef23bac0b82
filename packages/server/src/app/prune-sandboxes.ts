/** Removes what nobody needs any more: what stands at providers without a reason, what has ended, what is completed. */
import { decideFate } from "@drover/core";
import {
  SandboxState,
  TERMINAL_SANDBOX_STATES,
  type Prune,
  type PruneReason,
  type PruneReport,
  type SandboxId,
} from "@drover/contract";
import type { SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";
import { insertAudit } from "../store/audit.ts";
import { listLeft } from "../store/lifecycle.ts";
import { loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { terminateSandbox } from "./end-sandbox.ts";
import { reapSandboxesOnce } from "./reap-sandboxes.ts";
import { toKnown } from "./reconcile-sandboxes.ts";
import { installationLabels, parseLabels, toKey } from "./sandbox-key.ts";

type Item = PruneReport["items"][number];

interface Stray {
  readonly item: Item;
  readonly provider: SandboxProvider;
  readonly ref: SandboxRef;
}

const LIMIT = 10_000;
const REST: readonly SandboxState[] = [...TERMINAL_SANDBOX_STATES, "completed"];

const toReason = (state: SandboxState): PruneReason => {
  if (TERMINAL_SANDBOX_STATES.has(state)) return "ended";
  return state === "completed" ? "completed" : "at_work";
};

async function listItems(deps: Deps, actor: Person, all: boolean): Promise<readonly Item[]> {
  const states = all ? SandboxState.options : REST;
  const rows = await listLeft(deps.db, actor.grant.projectId, states, LIMIT);
  return rows.map(({ id, state, generation, provider }) => ({
    provider,
    key: toKey(id, generation),
    sandbox_id: id,
    state,
    reason: toReason(state),
    error: null,
  }));
}

/** What has no row belongs to no project: only who administers all of them may remove it. */
const mayRemove = (actor: Person, row: SandboxRow | undefined): boolean =>
  actor.grant.projectId === null || actor.grant.projectId === row?.project_id;

async function listStrays(deps: Deps, actor: Person, listed: ReadonlySet<string>, signal: AbortSignal) {
  const strays: Stray[] = [];
  for (const name of deps.providers.names) {
    // Expected: a provider that is not set up or away. What it holds is found when it is back.
    const provider = await deps.providers.open(name).catch(() => undefined);
    const found = (await provider?.list(installationLabels(deps.installation), signal).catch(() => [])) ?? [];
    for (const ref of found) {
      const labels = parseLabels(ref);
      if (provider === undefined || labels === undefined || listed.has(ref.key)) continue;
      const row = await loadSandbox.maybe(deps.db, labels.sandboxId);
      const fate = decideFate(row === undefined ? undefined : toKnown(row), labels);
      if (fate !== "destroy" || !mayRemove(actor, row)) continue;
      const item: Item = {
        provider: name,
        key: ref.key,
        sandbox_id: row?.id ?? null,
        state: row?.state ?? null,
        reason: "stray",
        error: null,
      };
      strays.push({ item, provider, ref });
    }
  }
  return strays;
}

const toMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function removeStray(deps: Deps, actor: Person, stray: Stray, signal: AbortSignal): Promise<Item> {
  await insertAudit(deps.db, {
    actor: actor.tokenId,
    action: "sandbox.prune",
    target: stray.ref.key,
    project_id: null,
    detail: { provider: stray.item.provider },
    request_id: null,
  });
  // Expected: the provider is away. The others are still removed.
  return stray.provider.destroy(stray.ref, signal).then(
    () => stray.item,
    (error: unknown) => ({ ...stray.item, error: toMessage(error) }),
  );
}

async function endRow(deps: Deps, actor: Person, item: Item & { readonly sandbox_id: SandboxId }): Promise<void> {
  if (item.reason !== "ended") await terminateSandbox(deps, actor, item.sandbox_id);
}

async function lookAgain(deps: Deps, item: Item): Promise<Item> {
  const row = item.sandbox_id === null ? undefined : await loadSandbox.maybe(deps.db, item.sandbox_id);
  return row?.closed_at === null ? { ...item, error: "not destroyed yet; the server goes on trying" } : item;
}

const isOfRow = (item: Item): item is Item & { readonly sandbox_id: SandboxId } => item.sandbox_id !== null;

export async function pruneSandboxes(
  deps: Deps,
  actor: Person,
  { all, dry_run }: Prune,
  signal: AbortSignal,
): Promise<PruneReport> {
  const items = await listItems(deps, actor, all);
  const strays = await listStrays(deps, actor, new Set(items.map((item) => item.key)), signal);
  if (dry_run) return { dry_run, items: [...items, ...strays.map((stray) => stray.item)] };
  for (const item of items.filter(isOfRow)) await endRow(deps, actor, item);
  // One pass takes a bounded number.
  while (!signal.aborted && (await reapSandboxesOnce(deps, signal)).reaped > 0);
  const done: Item[] = [];
  for (const item of items) done.push(await lookAgain(deps, item));
  for (const stray of strays) done.push(await removeStray(deps, actor, stray, signal));
  return { dry_run, items: done };
}
