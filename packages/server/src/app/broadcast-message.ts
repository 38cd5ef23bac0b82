/** One message to all agents of a ticket or a project: queued for each in one transaction, so that all get it or none. */
import { AppError, BROADCAST_LIMIT, type Broadcast, type NewBroadcast, type ProjectId } from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import { listReceivers, lockSandboxes } from "../store/sandboxes.ts";
import { loadTicketProject } from "../store/tickets.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import type { EventDraft } from "./event-log.ts";
import { pickProject } from "./manage-projects.ts";
import { queueMessage } from "./send-message.ts";

/** A ticket lies in the project that is named, and in one that the caller may see. */
async function pickScope(deps: Deps, actor: Person, { ticket_id, project_id }: NewBroadcast): Promise<ProjectId> {
  if (ticket_id === undefined) return pickProject(deps, actor, project_id);
  const own = (await loadTicketProject.maybe(deps.db, ticket_id))?.project_id;
  const isHidden = actor.grant.projectId !== null && actor.grant.projectId !== own;
  if (own === undefined || isHidden || (project_id !== undefined && project_id !== own))
    throw new AppError("ticket.not_found");
  return own;
}

export async function broadcastMessage(
  deps: Deps,
  actor: Person,
  input: NewBroadcast,
  key: RequestKey | undefined,
): Promise<Broadcast> {
  const projectId = await pickScope(deps, actor, input);
  const { ticket_id: ticketId = null, project_id: _project, ...message } = input;
  return createOnce(deps, key, async (tx, append): Promise<Broadcast> => {
    const found = await listReceivers(tx, projectId, ticketId, BROADCAST_LIMIT + 1);
    if (found.length > BROADCAST_LIMIT)
      throw new AppError("request.invalid", `more than ${BROADCAST_LIMIT} agents would be told; name a ticket`);
    const ids = new Set(found.map(({ id }) => id));
    const recipients: Broadcast["recipients"] = [];
    const drafts: EventDraft[] = [];
    for (const sandbox of await lockSandboxes(tx, [...ids])) {
      // It may have ended between being found and being locked.
      if (sandbox.closed_at !== null) continue;
      const { id, event } = await queueMessage(tx, deps, sandbox, message, { sender: actor.tokenId, source: "user" });
      recipients.push({ sandbox_id: sandbox.id, message_id: id });
      drafts.push(event);
    }
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "message.broadcast",
      target: ticketId,
      project_id: projectId,
      detail: { recipient_count: recipients.length },
      request_id: null,
    });
    await append(drafts);
    return { status: "queued", recipient_count: recipients.length, recipients };
  });
}
