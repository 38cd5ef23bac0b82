/** Links by which anybody may watch one run: made, listed, ended. */
import { AppError, ShareId, type CreatedShare, type NewShare, type SandboxId, type Share } from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import { loadSandboxProject } from "../store/sandboxes.ts";
import { insertShare, listShares, loadShare, revokeShare, type ShareRow } from "../store/shares.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import { hashSecret, type Person } from "./credential.ts";
import { parseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";

const toShare = (row: ShareRow): Share => ({
  id: row.id,
  sandbox_id: row.sandbox_id,
  created_by: row.created_by,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
});

export async function createShare(
  deps: Deps,
  actor: Person,
  sandboxId: SandboxId,
  input: NewShare,
  key: RequestKey | undefined,
): Promise<CreatedShare> {
  const { project_id } = await loadSandboxProject.one(deps.db, sandboxId);
  return createOnce(deps, key, async (tx, append) => {
    const secret = deps.ids.secret("share");
    const row = await insertShare.one(tx, {
      id: deps.ids.share(),
      hash: hashSecret(secret),
      sandbox_id: sandboxId,
      created_by: actor.tokenId,
      seconds: input.expires_in_s,
    });
    const told = { sandbox_id: sandboxId, expires_at: row.expires_at.toISOString() };
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "share.create",
      target: row.id,
      project_id,
      detail: told,
      request_id: null,
    });
    await append([
      draftEvent(
        deps.ids,
        { type: "share", id: row.id, projectId: project_id },
        { eventType: "share.created", data: told, source: "user" },
      ),
    ]);
    return { ...toShare(row), token: secret, path: `/s/${sandboxId}#${secret}` };
  });
}

export async function pageShares(
  deps: Deps,
  sandboxId: SandboxId,
  query: { readonly limit: number; readonly cursor?: string | undefined },
) {
  const rows = await listShares(deps.db, sandboxId, parseCursor(ShareId, query.cursor), query.limit + 1);
  const items = rows.slice(0, query.limit);
  return { items: items.map(toShare), next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
}

export async function endShare(deps: Deps, actor: Person, sandboxId: SandboxId, id: ShareId): Promise<Share> {
  const found = await loadShare.maybe(deps.db, sandboxId, id);
  if (found === undefined) throw new AppError("share.not_found");
  if (found.revoked_at !== null) return toShare(found);
  const { project_id } = await loadSandboxProject.one(deps.db, sandboxId);
  const share = await writeWithEvents(deps, async (tx, append) => {
    const row = await revokeShare.one(tx, id);
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "share.revoke",
      target: id,
      project_id,
      detail: { sandbox_id: sandboxId },
      request_id: null,
    });
    await append([
      draftEvent(
        deps.ids,
        { type: "share", id, projectId: project_id },
        { eventType: "share.revoked", data: { sandbox_id: sandboxId }, source: "user" },
      ),
    ]);
    return toShare(row);
  });
  deps.credentials.forget();
  return share;
}
