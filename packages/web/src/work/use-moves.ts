/** Moving tickets: at once on the page, taken back when the server refuses. */
import type { Ticket, TicketChange, TicketStatus } from "@drover/contract";
import type { TicketPriority } from "@drover/contract/views";
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

export async function moveTicket(ticket: Ticket, move: Move): Promise<void> {
  change(ticket.id, move);
  await send(ticket, move).catch((error: unknown) => {
    change(ticket.id, { status: ticket.status, priority: ticket.priority });
    notify.bad(`Not moved: ${error instanceof Error ? error.message : "something unexpected went wrong"}`);
  });
  await queryClient.invalidateQueries({ queryKey: ticketsQuery(undefined).queryKey.slice(0, 2) });
}
