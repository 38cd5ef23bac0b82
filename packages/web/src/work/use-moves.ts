/** Moving tickets: at once on the page, taken back when the server refuses. */
import type { Ticket, TicketChange, TicketStatus } from "@drover/contract";
import { TICKET_MOVES, type TicketPriority } from "@drover/contract/views";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { notify } from "../ui/notify.ts";
import { ticketsQuery } from "./queries.ts";

interface Move {
  readonly status?: TicketStatus;
  readonly priority?: TicketPriority;
}

type TicketPage = Awaited<ReturnType<typeof client.listTickets>>;

function change(ticketId: string, part: Partial<Ticket>): void {
  queryClient.setQueriesData<TicketPage>({ queryKey: ["work", "tickets"] }, (page) =>
    page === undefined
      ? page
      : { ...page, items: page.items.map((ticket) => (ticket.id === ticketId ? { ...ticket, ...part } : ticket)) },
  );
}

async function send(ticket: Ticket, { status, priority }: Move): Promise<void> {
  const params = { ticket_id: ticket.id };
  if (priority !== undefined && priority !== ticket.priority) {
    const body: TicketChange = { priority };
    await client.updateTicket({ params, body });
  }
  if (status !== undefined && status !== ticket.status)
    await client.transitionTicket({ params, body: { to_status: status } });
}

/** Whether the machine has a way back, so that it can be offered. */
const isReversible = (ticket: Ticket, { status = ticket.status }: Move): boolean =>
  status === ticket.status || TICKET_MOVES[status].includes(ticket.status);

function offerWayBack(ticket: Ticket, move: Move): void {
  const what = move.status === undefined || move.status === ticket.status ? move.priority?.toLowerCase() : move.status;
  const text = `${ticket.title} is now ${what ?? ticket.status}`;
  if (!isReversible(ticket, move)) return notify.good(text);
  notify.undoable(text, () => void moveTicket({ ...ticket, ...move }, ticket, true));
}

export async function moveTicket(ticket: Ticket, move: Move, isUndo = false): Promise<void> {
  const wanted: Move = {
    ...(move.status === undefined ? {} : { status: move.status }),
    ...(move.priority === undefined ? {} : { priority: move.priority }),
  };
  // A list that is being read was asked for before the move.
  void queryClient.cancelQueries({ queryKey: ["work", "tickets"] });
  change(ticket.id, wanted);
  await send(ticket, wanted)
    .then(() => isUndo || offerWayBack(ticket, wanted))
    .catch((error: unknown) => {
      change(ticket.id, { status: ticket.status, priority: ticket.priority });
      notify.bad(`Not moved: ${error instanceof Error ? error.message : "something unexpected went wrong"}`);
    });
  await queryClient.invalidateQueries({ queryKey: ticketsQuery(undefined).queryKey.slice(0, 2) });
}
