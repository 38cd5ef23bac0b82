/** The tickets that a ticket waits for: told, added and taken away. */
import type { Ticket } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { Select } from "../ui/select.tsx";
import { TicketBadge } from "./badges.tsx";
import { Panel } from "./page-frame.tsx";
import { ticketsQuery } from "./queries.ts";

interface TicketBlockersProps {
  readonly ticket: Ticket;
  readonly mayOperate: boolean;
}

export function TicketBlockers({ ticket, mayOperate }: TicketBlockersProps) {
  const ticket_id = ticket.id;
  const waits = useQuery({
    queryKey: ["work", "blockers", ticket_id],
    queryFn: ({ signal }) => client.listTicketBlockers({ params: { ticket_id } }, { signal }),
  });
  const isOpen = ticket.status !== "done";
  const others = useQuery({ ...ticketsQuery(ticket.project_id), enabled: mayOperate && isOpen });
  const change = {
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["work"] }),
    onError: (error: Error) => notify.bad(`Not changed: ${error.message}`),
  };
  const add = useMutation({
    mutationFn: (other: string) =>
      client.addTicketBlocker({ params: { ticket_id }, body: { blocked_by_ticket_id: other } }),
    ...change,
  });
  const remove = useMutation({
    mutationFn: (other: string) => client.removeTicketBlocker({ params: { ticket_id, blocker_id: other } }),
    ...change,
    onSuccess: (_, other) => {
      notify.undoable("It waits no more for that ticket", () => add.mutate(other));
      return change.onSuccess();
    },
  });
  const blockers = waits.data?.blockers ?? [];
  const known = new Set([ticket_id, ...blockers.map(({ id }) => id)]);
  const free = (others.data?.items ?? []).filter((one) => !known.has(one.id) && one.status !== "done");
  const mayAdd = mayOperate && isOpen && free.length > 0;
  if (blockers.length === 0 && !mayAdd && !waits.isError) return null;
  return (
    <Panel title="Waits for tickets">
      {waits.isError && (
        <div className="p-4">
          <Problem
            error={waits.error}
            what="What it waits for could not be read"
            onRetry={() => void waits.refetch()}
          />
        </div>
      )}
      <ul className="divide-y divide-line" aria-label="Tickets it waits for">
        {blockers.map((one) => (
          <li key={one.id} className="flex min-h-10 items-center gap-2 px-4 py-1.5" data-blocker={one.id}>
            <TicketBadge status={one.status} />
            <Link
              to="/tasks/tickets/$ticketId"
              params={{ ticketId: one.id }}
              className="min-w-0 flex-1 truncate text-sm font-medium hover:underline"
            >
              {one.title}
            </Link>
            {mayOperate && isOpen && (
              <Button
                size="small"
                aria-label={`Do not wait for ${one.title}`}
                disabled={remove.isPending}
                onClick={() => remove.mutate(one.id)}
              >
                <X size={13} aria-hidden />
              </Button>
            )}
          </li>
        ))}
      </ul>
      {mayAdd && (
        <div className="border-t border-line px-4 py-3 first:border-t-0">
          <Select
            label="Let it wait for"
            hint="Its tasks begin when that ticket is done."
            value=""
            disabled={add.isPending}
            options={[
              { value: "", label: "Another ticket…" },
              ...free.map(({ id, title }) => ({ value: id, label: title })),
            ]}
            onChange={(event) => event.target.value !== "" && add.mutate(event.target.value)}
          />
        </div>
      )}
    </Panel>
  );
}
