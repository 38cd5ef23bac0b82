/** Tickets as a board: a column per state. Moved by mouse, by keyboard and by a menu, where the machine allows it. */
import type { Task, Ticket, TicketStatus } from "@drover/contract";
import {
  stepPriority,
  TICKET_MOVES,
  TICKET_PRIORITIES,
  toBoard,
  type BoardColumn,
  type TicketPriority,
} from "@drover/contract/views";
import { useEffect, useMemo, useRef, useState, type DragEvent, type ReactNode } from "react";
import { useKeys } from "../app/keys.ts";
import { formatCount } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";
import { TICKET_LOOKS } from "./badges.tsx";
import { BoardCard } from "./board-card.tsx";
import { moveTicket } from "./use-moves.ts";
import { walkCards } from "./walk-cards.ts";

interface BoardProps {
  readonly tickets: readonly Ticket[];
  readonly tasks: readonly Task[];
  readonly mayMove: boolean;
}

const DRAGGED = "application/x-drover-ticket";

const focusedId = (): string | undefined =>
  document.activeElement?.closest<HTMLElement>("[data-ticket]")?.dataset["ticket"];

/** By keyboard a ticket goes forth to the first state that follows, and back where the machine has a way back. */
const pickStep = (status: TicketStatus, isForth: boolean): TicketStatus | undefined =>
  TICKET_MOVES[status][isForth ? 0 : 1];

export function Board({ tickets, tasks, mayMove }: BoardProps) {
  const columns = useMemo(() => toBoard(tickets), [tickets]);
  const tasksOf = useMemo(() => Map.groupBy(tasks, (task) => task.ticket_id as string), [tasks]);
  const [dragged, setDragged] = useState<Ticket>();
  const toFocus = useRef<string>(undefined);

  // A card that changed its column is a new element, and one more when a list read before the move puts it back for a moment: whoever
  // moved it stays on it until they go elsewhere.
  useEffect(() => {
    const id = toFocus.current;
    if (id === undefined) return;
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>(`[data-ticket="${CSS.escape(id)}"] a`)?.focus();
    else if (focusedId() !== id) toFocus.current = undefined;
  }, [tickets]);

  const move = (ticket: Ticket, part: { status?: TicketStatus; priority?: TicketPriority }) => {
    toFocus.current = ticket.id;
    void moveTicket(ticket, part);
  };
  const moveFocused = (
    toPart: (ticket: Ticket) => { status?: TicketStatus | undefined; priority?: TicketPriority },
  ) => {
    const ticket = tickets.find(({ id }) => id === focusedId());
    if (ticket === undefined || !mayMove) return;
    const { status, priority } = toPart(ticket);
    if (status === undefined && (priority === undefined || priority === ticket.priority)) return;
    move(ticket, { ...(status === undefined ? {} : { status }), ...(priority === undefined ? {} : { priority }) });
  };
  useKeys({
    moveForth: () => moveFocused(({ status }) => ({ status: pickStep(status, true) })),
    moveBack: () => moveFocused(({ status }) => ({ status: pickStep(status, false) })),
    morePriority: () => moveFocused(({ priority }) => ({ priority: stepPriority(priority, -1) })),
    lessPriority: () => moveFocused(({ priority }) => ({ priority: stepPriority(priority, 1) })),
    nextTicket: () => walkCards("ticket", 1),
    previousTicket: () => walkCards("ticket", -1),
  });

  return (
    <div
      className="flex min-h-0 flex-1 snap-x scroll-px-4 gap-3 overflow-x-auto px-4 pb-4 md:scroll-px-6 md:px-6 xl:gap-2"
      tabIndex={0}
      role="region"
      aria-label="Board"
    >
      {columns.map((column) => (
        <Column
          key={column.status}
          column={column}
          dragged={dragged}
          onDrop={(priority) =>
            dragged !== undefined &&
            void moveTicket(dragged, { status: column.status, ...(priority === undefined ? {} : { priority }) })
          }
        >
          {column.tickets.map((ticket) => (
            <BoardCard
              key={ticket.id}
              ticket={ticket}
              tasks={tasksOf.get(ticket.id) ?? []}
              mayMove={mayMove}
              onMove={(part) => move(ticket, part)}
              onDragStart={(event) => {
                event.dataTransfer.setData(DRAGGED, ticket.id);
                event.dataTransfer.effectAllowed = "move";
                setDragged(ticket);
              }}
              onDragEnd={() => setDragged(undefined)}
            />
          ))}
        </Column>
      ))}
    </div>
  );
}

interface ColumnProps {
  readonly column: BoardColumn<Ticket>;
  readonly dragged: Ticket | undefined;
  readonly onDrop: (priority: TicketPriority | undefined) => void;
  readonly children: ReactNode;
}

function Column({ column: { status, tickets }, dragged, onDrop, children }: ColumnProps) {
  const [isOver, setOver] = useState(false);
  const { icon: Icon, word } = TICKET_LOOKS[status];
  const isHome = dragged?.status === status;
  const isLegal = dragged !== undefined && (isHome || TICKET_MOVES[dragged.status].includes(status));
  const allow = (event: DragEvent) => {
    if (!isLegal) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "move";
    setOver(true);
  };
  const drop = (event: DragEvent, priority?: TicketPriority) => {
    event.preventDefault();
    event.stopPropagation();
    setOver(false);
    if (isLegal) onDrop(priority);
  };
  return (
    <section
      aria-label={word ?? status}
      data-column={status}
      onDragOver={allow}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={cx(
        "flex w-72 shrink-0 snap-start flex-col xl:w-auto xl:min-w-48 xl:flex-1 xl:shrink rounded-xl border bg-sunken/60 transition-[opacity,border-color]",
        isOver && isLegal && !isHome ? "border-live" : "border-transparent",
        dragged !== undefined && !isLegal && "opacity-45",
      )}
    >
      <h2 className="flex items-center gap-1.5 px-3 py-2 text-xs font-semibold text-ink-2">
        <Icon size={14} aria-hidden className="text-ink-3" />
        <span className="capitalize">{word ?? status}</span>
        <span className="font-normal text-ink-3 tabular-nums">{formatCount(tickets.length)}</span>
      </h2>
      {dragged !== undefined && isLegal && (
        <div className="mx-2 mb-2 grid grid-cols-4 gap-1" aria-hidden>
          {TICKET_PRIORITIES.map((priority) => (
            <div
              key={priority}
              data-lane={priority}
              onDragOver={allow}
              onDrop={(event) => drop(event, priority)}
              className={cx(
                "grid h-8 place-items-center rounded-md border border-dashed text-2xs",
                dragged.priority === priority ? "border-live text-live-ink" : "border-line-strong text-ink-3",
              )}
            >
              {priority.toLowerCase()}
            </div>
          ))}
        </div>
      )}
      <ul className="flex min-h-16 flex-1 flex-col gap-2 overflow-y-auto px-2 pb-2">{children}</ul>
    </section>
  );
}
