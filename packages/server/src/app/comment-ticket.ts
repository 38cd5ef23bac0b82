/** What people and agents say on a ticket: kept with it, told, and read page by page. */
import { AppError, type CommentType, type NewTicketComment, type TicketComment, type TicketId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertAudit } from "../store/audit.ts";
import { lockSandboxes } from "../store/sandboxes.ts";
import { loadAttemptOfSandbox } from "../store/task-attempts.ts";
import { loadTask } from "../store/tasks.ts";
import { countComments, insertComment, listComments, type CommentRow } from "../store/ticket-comments.ts";
import { loadTicket, type TicketRow } from "../store/tickets.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import { loadForWorker } from "./current-worker.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import type { EventDraft } from "./event-log.ts";
import type { WorkerIdentity } from "./ingest-events.ts";
import { draftTicketEvent } from "./manage-tickets.ts";
import { toPreview } from "./send-message.ts";

/** An agent that says more than this on its ticket talks to itself. */
const AGENT_LIMIT = 100;

interface Author {
  readonly id: string;
  readonly name: string;
  readonly type: "person" | "agent";
}

export const toAuthor = (actor: Person): Author => ({ id: actor.tokenId, name: actor.name, type: "person" });

const toComment = ({ position: _position, ...row }: CommentRow): TicketComment => ({
  ...row,
  created_at: row.created_at.toISOString(),
});

/** Stores it in the caller's transaction; the event is the caller's to append. */
export async function writeComment(
  tx: Db,
  deps: Pick<Deps, "ids">,
  ticket: TicketRow,
  author: Author,
  said: { readonly comment_type: CommentType; readonly comment_text: string },
): Promise<{ readonly comment: TicketComment; readonly draft: EventDraft }> {
  const row = await insertComment.one(tx, {
    id: deps.ids.comment(),
    ticket_id: ticket.id,
    author_id: author.id,
    author_name: author.name,
    author_type: author.type,
    comment_type: said.comment_type,
    comment_text: said.comment_text,
  });
  const data = {
    comment_id: row.id,
    comment_type: row.comment_type,
    author_id: author.id,
    author_type: author.type,
    content: toPreview(row.comment_text),
  };
  const source = author.type === "person" ? "user" : "server";
  return { comment: toComment(row), draft: draftTicketEvent(deps, ticket, "TICKET_COMMENTED", data, source) };
}

export const addTicketComment = (
  deps: Deps,
  actor: Person,
  id: TicketId,
  input: NewTicketComment,
  key: RequestKey | undefined,
): Promise<TicketComment> =>
  createOnce(deps, key, async (tx, append) => {
    const ticket = await loadTicket.maybe(tx, id);
    if (ticket === undefined) throw new AppError("ticket.not_found");
    const { comment, draft } = await writeComment(tx, deps, ticket, toAuthor(actor), input);
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "ticket.comment",
      target: id,
      project_id: ticket.project_id,
      detail: { comment_id: comment.id },
      request_id: null,
    });
    await append([draft]);
    return comment;
  });

/** Identity comes from the token: the ticket is that of the task which this very sandbox works on. */
export async function reportComment(
  deps: Deps,
  worker: WorkerIdentity,
  input: NewTicketComment,
  key: RequestKey | undefined,
): Promise<TicketComment> {
  const sandbox = await loadForWorker(deps.db, worker);
  const attempt = await loadAttemptOfSandbox.maybe(deps.db, sandbox.id);
  if (attempt === undefined) throw new AppError("task.not_yours", "the sandbox works on no task");
  return createOnce(deps, key, async (tx, append) => {
    // Held, so that an agent that says many things at once cannot say more than it may.
    await lockSandboxes(tx, [sandbox.id]);
    const ticket = await loadTicket.one(tx, (await loadTask.one(tx, attempt.task_id)).ticket_id);
    if ((await countComments.one(tx, sandbox.id)).count >= AGENT_LIMIT)
      throw new AppError("task.limit_reached", `an agent may say ${AGENT_LIMIT} things on its ticket`);
    const author = { id: sandbox.id, name: sandbox.runtime ?? "agent", type: "agent" } as const;
    const { comment, draft } = await writeComment(tx, deps, ticket, author, input);
    await append([draft]);
    return comment;
  });
}

export const pageComments = async (
  deps: Deps,
  id: TicketId,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
) => toPage(await listComments(deps.db, id, parsePosition(cursor), limit + 1), limit, toComment);
