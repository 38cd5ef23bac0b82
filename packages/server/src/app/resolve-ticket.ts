/** A person says that a ticket is done, and why: it ends as a merged one does, and what waited for it goes on. */
import { isTicketOver, listTicketWay } from "@drover/core";
import { AppError, ENDED_TASK_STATES, type Ticket, type TicketId } from "@drover/contract";
import { listTicketTasks } from "../store/tasks.ts";
import { toAuthor, writeComment } from "./comment-ticket.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { changeTicket, toSteps } from "./manage-tickets.ts";

const TASKS_LIMIT = 10_000;
/** Nobody has begun with these; they are cancelled when the ticket is over. */
const UNBEGUN: ReadonlySet<string> = new Set(["pending", "blocked"]);

export const resolveTicket = (deps: Deps, actor: Person, id: TicketId, why: string): Promise<Ticket> =>
  changeTicket(deps, id, actor, async (row, tx) => {
    if (isTicketOver(row) || row.approval_status === "pending_review")
      throw new AppError(
        "ticket.illegal_transition",
        `a ticket that is ${row.status === "done" ? row.status : row.approval_status} cannot be resolved`,
      );
    const busy = (await listTicketTasks(tx, id, TASKS_LIMIT)).filter(
      ({ status }) => !UNBEGUN.has(status) && !ENDED_TASK_STATES.has(status),
    );
    if (busy.length > 0)
      throw new AppError(
        "ticket.illegal_transition",
        `tasks of it are under way: wait for them or cancel them first: ${busy.map((task) => task.id).join(", ")}`,
      );
    const { patch, drafts } = toSteps(deps, row, listTicketWay(row.status, "done"), why, "user");
    const said = { comment_type: "resolution", comment_text: why } as const;
    const { draft } = await writeComment(tx, deps, { ...row, ...patch }, toAuthor(actor), said);
    return { patch, drafts: [...drafts, draft] };
  });
