/** A ticket on the board: what it is, how urgent, how far, and what it waits for. */
import type { Task, TaskStatus, Ticket, TicketStatus } from "@drover/contract";
import { TICKET_MOVES, TICKET_PRIORITIES, type TicketPriority } from "@drover/contract/views";
import { Link } from "@tanstack/react-router";
import { Lock } from "lucide-react";
import type { DragEvent } from "react";
import { cx } from "../ui/class-names.ts";
import { PriorityMark, TICKET_LOOKS, WaitsForPerson } from "./badges.tsx";

interface BoardCardProps {
  readonly ticket: Ticket;
  readonly tasks: readonly Task[];
  readonly mayMove: boolean;
  readonly onMove: (part: { status?: TicketStatus; priority?: TicketPriority }) => void;
  readonly onDragStart: (event: DragEvent) => void;
  readonly onDragEnd: () => void;
}

export function BoardCard({ ticket, tasks, mayMove, onMove, onDragStart, onDragEnd }: BoardCardProps) {
  return (
    <li
      data-ticket={ticket.id}
      draggable={mayMove}
      onDragStart={onDragStart}
      onDragEnd={onDragEnd}
      className={cx(
        "group relative flex flex-col gap-2 rounded-lg border border-line bg-surface p-3 shadow-card hover:border-line-strong has-[a:focus-visible]:border-live",
        mayMove && "cursor-grab active:cursor-grabbing",
      )}
    >
      <div className="flex items-center gap-2">
        <PriorityMark priority={ticket.priority} />
        {ticket.ticket_type !== null && <span className="truncate text-xs text-ink-3">{ticket.ticket_type}</span>}
        <span className="flex-1" />
        {ticket.is_blocked && (
          <span className="inline-flex items-center gap-1 text-xs text-wait-ink">
            <Lock size={12} aria-hidden /> {ticket.blocked_reason ?? "blocked"}
          </span>
        )}
        {ticket.approval_status === "pending_review" && <WaitsForPerson text="review" />}
      </div>
      <h3 className="text-sm leading-snug font-medium break-words">
        <Link
          to="/tasks/tickets/$ticketId"
          params={{ ticketId: ticket.id }}
          draggable={false}
          className="rounded after:absolute after:inset-0 after:rounded-lg focus-visible:outline-none after:focus-visible:outline-2 after:focus-visible:outline-live"
        >
          {ticket.title}
        </Link>
      </h3>
      <Progress tasks={tasks} />
      {mayMove && (
        <select
          aria-label={`Move ${ticket.title}`}
          value=""
          onChange={(event) => {
            const [kind, value] = event.target.value.split(":");
            if (kind === "status") onMove({ status: value as TicketStatus });
            if (kind === "priority") onMove({ priority: value as TicketPriority });
          }}
          className="absolute right-2 bottom-2 z-10 h-7 w-20 rounded-md border border-line-strong bg-raised px-1 text-xs text-ink-2 opacity-0 group-hover:opacity-100 focus-visible:opacity-100 max-md:opacity-100"
        >
          <option value="">Move…</option>
          {TICKET_MOVES[ticket.status].map((status) => (
            <option key={status} value={`status:${status}`}>
              to {TICKET_LOOKS[status].word ?? status}
            </option>
          ))}
          {TICKET_PRIORITIES.filter((priority) => priority !== ticket.priority).map((priority) => (
            <option key={priority} value={`priority:${priority}`}>
              {priority.toLowerCase()} priority
            </option>
          ))}
        </select>
      )}
    </li>
  );
}

const SEGMENTS: readonly (readonly [string, readonly TaskStatus[], string])[] = [
  ["done", ["completed", "skipped"], "bg-done"],
  ["working", ["claiming", "assigned", "running", "validating", "pending_validation", "needs_revision"], "bg-live"],
  ["failed", ["failed", "cancelled"], "bg-fail"],
];

/** Tasks of a ticket as a bar: done, under way, failed, to come. */
export function Progress({ tasks }: { readonly tasks: readonly Task[] }) {
  if (tasks.length === 0) return <p className="text-xs text-ink-3">No task yet</p>;
  const parts = SEGMENTS.map(([name, states, look]) => ({
    name,
    look,
    count: tasks.filter((task) => states.includes(task.status)).length,
  }));
  const done = parts[0]?.count ?? 0;
  const failed = parts[2]?.count ?? 0;
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5">
      <div
        role="img"
        aria-label={parts.map(({ name, count }) => `${count} ${name}`).join(", ")}
        className="flex h-1.5 min-w-16 flex-1 basis-16 overflow-hidden rounded-full bg-line"
      >
        {parts.map(({ name, look, count }) => (
          <span key={name} className={look} style={{ width: `${(count / tasks.length) * 100}%` }} />
        ))}
      </div>
      <span className="text-xs whitespace-nowrap text-ink-3 tabular-nums">
        {done} of {tasks.length} done
        {failed > 0 && <span className="text-fail-ink">, {failed} failed</span>}
      </span>
    </div>
  );
}
