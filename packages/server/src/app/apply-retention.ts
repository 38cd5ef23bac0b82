/** Removes whole sessions that their projects keep no longer: decided and audited first, then emptied in small steps. */
import type { ProjectId, RetentionReport, SandboxId } from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import {
  deleteSessionArtifacts,
  deleteSessionJudgement,
  deleteSessionMessages,
  deleteSessionPermissions,
  deleteSomeEvents,
  findUser,
  forgetUnused,
  listExpired,
  listRemoving,
  listUnused,
  markEmptied,
  markRemoved,
} from "../store/retention.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";

/** Sessions in one pass. */
const SESSIONS = 50;
const EVENTS = 1_000;
const BLOBS = 500;
/** Whoever puts bytes says within this which session they belong to. */
const GRACE_SECONDS = 3_600;
const LOOP = "retention";

/** Safe on every replica: the row decides once, and whatever is deleted twice is deleted once. */
async function decide(deps: Deps, actor: string, projectId: ProjectId | null): Promise<RetentionReport["items"]> {
  const items: RetentionReport["items"] = [];
  for (const { id, project_id, ended_at, events } of await listExpired(deps.db, projectId, SESSIONS)) {
    const isDecided = await deps.db.tx(async (tx) => {
      if ((await markRemoved.maybe(tx, id)) === undefined) return false;
      const detail = { ended_at: ended_at.toISOString(), events };
      await insertAudit(tx, { actor, action: "retention.remove", target: id, project_id, detail, request_id: null });
      return true;
    });
    if (isDecided) items.push({ sandbox_id: id, project_id, ended_at: ended_at.toISOString(), events });
  }
  return items;
}

async function emptySession(deps: Deps, id: SandboxId, signal: AbortSignal): Promise<void> {
  for (;;) {
    if (signal.aborted) return;
    if ((await deleteSomeEvents.one(deps.db, id, EVENTS)).count === 0) break;
  }
  await deps.checkpoints.remove(id);
  await deps.db.tx(async (tx) => {
    await deleteSessionMessages(tx, id);
    await deleteSessionPermissions(tx, id);
    await deleteSessionJudgement(tx, id);
    await deleteSessionArtifacts(tx, id);
    await markEmptied(tx, id);
  });
}

async function removeUnused(deps: Deps): Promise<number> {
  let removed = 0;
  for (const { id } of await listUnused(deps.db, GRACE_SECONDS, BLOBS)) {
    const isUsed = (await findUser.maybe(deps.db, id)) !== undefined;
    const before = new Date(deps.clock.now().getTime() - GRACE_SECONDS * 1_000);
    if (!isUsed && (await deps.blobs.remove(id, before))) removed += 1;
    await forgetUnused(deps.db, id);
  }
  return removed;
}

export async function applyRetentionOnce(
  deps: Deps,
  signal: AbortSignal,
): Promise<{ removed: number; emptied: number; blobs: number }> {
  const { length: removed } = await decide(deps, LOOP, null);
  const removing = await listRemoving(deps.db, SESSIONS);
  for (const { id } of removing) await emptySession(deps, id, signal);
  return { removed, emptied: removing.length, blobs: await removeUnused(deps) };
}

/** Asked for by a person, of the projects that they administer. */
export async function applyRetention(
  deps: Deps,
  actor: Person,
  isDry: boolean,
  signal: AbortSignal,
): Promise<RetentionReport> {
  const { projectId } = actor.grant;
  if (isDry) {
    const rows = await listExpired(deps.db, projectId, SESSIONS);
    const items = rows.map(({ id, project_id, ended_at, events }) => ({
      sandbox_id: id,
      project_id,
      ended_at: ended_at.toISOString(),
      events,
    }));
    return { items };
  }
  const items = await decide(deps, actor.tokenId, projectId);
  for (const { sandbox_id } of items) await emptySession(deps, sandbox_id, signal);
  return { items };
}
