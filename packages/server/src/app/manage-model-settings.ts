/** Prices of models, and where their calls go: read and set by admins of all projects. */
import { AppError, type ModelUpstream, type ModelUpstreamChange, type Price, type PriceChange } from "@drover/contract";
import { MODEL_PROTOCOLS, type ModelProtocol } from "@drover/core";
import { insertAudit } from "../store/audit.ts";
import {
  deletePrice,
  deleteUpstream,
  listPrices,
  listUpstreams,
  putPrice,
  putUpstream,
  type UpstreamRow,
} from "../store/model-settings.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { toConfigured } from "./models.ts";

function requireAll(actor: Person): void {
  if (actor.grant.projectId !== null)
    throw new AppError("auth.forbidden", "only an admin of all projects changes what all of them use");
}

const audit = (deps: Deps, actor: Person, action: string, target: string) =>
  insertAudit(deps.db, { actor: actor.tokenId, action, target, project_id: null, detail: {}, request_id: null });

export const readPrices = async (deps: Deps): Promise<{ items: Price[]; next_cursor: null }> => ({
  items: [...(await listPrices(deps.db))],
  next_cursor: null,
});

export async function setPrice(deps: Deps, actor: Person, change: PriceChange): Promise<Price> {
  requireAll(actor);
  const as_of = deps.clock.now().toISOString().slice(0, 10);
  const row = await putPrice.one(deps.db, {
    ...change,
    context_tokens: change.context_tokens ?? null,
    origin: "edited",
    as_of,
  });
  await audit(deps, actor, "price.set", change.model);
  deps.models.forget();
  return row;
}

export async function removePrice(deps: Deps, actor: Person, model: string): Promise<Price> {
  requireAll(actor);
  const row = await deletePrice.maybe(deps.db, model);
  if (row === undefined) throw new AppError("price.not_found", `no price is set for ${model}`);
  await audit(deps, actor, "price.delete", model);
  deps.models.forget();
  return row;
}

function toUpstream(deps: Deps, protocol: ModelProtocol, row: UpstreamRow | undefined): ModelUpstream {
  const configured = toConfigured(deps.config, protocol);
  if (configured.baseUrl !== undefined || configured.key !== undefined)
    return {
      protocol,
      base_url: configured.baseUrl ?? null,
      has_key: configured.key !== undefined,
      origin: "environment",
    };
  return {
    protocol,
    base_url: row?.base_url ?? null,
    has_key: row !== undefined && row.sealed_key !== null,
    origin: row === undefined ? "none" : "stored",
  };
}

async function readUpstream(deps: Deps, protocol: ModelProtocol): Promise<ModelUpstream> {
  const rows = await listUpstreams(deps.db);
  return toUpstream(
    deps,
    protocol,
    rows.find((row) => row.protocol === protocol),
  );
}

export async function readUpstreams(deps: Deps, actor: Person): Promise<{ items: ModelUpstream[]; next_cursor: null }> {
  requireAll(actor);
  const rows = await listUpstreams(deps.db);
  const items = MODEL_PROTOCOLS.map((protocol) =>
    toUpstream(
      deps,
      protocol,
      rows.find((row) => row.protocol === protocol),
    ),
  );
  return { items, next_cursor: null };
}

export async function setUpstream(
  deps: Deps,
  actor: Person,
  protocol: ModelProtocol,
  change: ModelUpstreamChange,
): Promise<ModelUpstream> {
  requireAll(actor);
  const sealed = change.api_key === undefined ? null : deps.vault.seal(change.api_key);
  await putUpstream(deps.db, protocol, change.base_url ?? null, sealed);
  await audit(deps, actor, "upstream.set", protocol);
  deps.models.forget();
  return readUpstream(deps, protocol);
}

export async function removeUpstream(deps: Deps, actor: Person, protocol: ModelProtocol): Promise<ModelUpstream> {
  requireAll(actor);
  await deleteUpstream(deps.db, protocol);
  await audit(deps, actor, "upstream.delete", protocol);
  deps.models.forget();
  return readUpstream(deps, protocol);
}
