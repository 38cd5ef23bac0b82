/** What happened to a ticket, newest first; read when it is opened. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client } from "../data/client.ts";
import { formatDay } from "../data/format.ts";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import { Panel } from "./page-frame.tsx";

const SHOWN = 30;

type Data = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const because = (data: Data): string => (text(data["reason"]) === "" ? "" : `: ${text(data["reason"])}`);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** In words; a step is told by two names, and shown once. */
const WORDS: Readonly<Record<string, (data: Data) => string>> = {
  TICKET_CREATED: () => "Made",
  TICKET_UPDATED: (data) => `Changed: ${list(data["fields"]).join(", ")}`,
  TICKET_STATUS_CHANGED: (data) => `${text(data["from_status"])} → ${text(data["to_status"])}${because(data)}`,
  TICKET_BLOCKED: (data) => `Blocked${because(data)}`,
  TICKET_UNBLOCKED: () => "Unblocked",
  TICKET_APPROVAL_REQUESTED: () => "Waits for approval",
  TICKET_APPROVAL_TIMED_OUT: () => "Nobody approved it in time",
  TICKET_APPROVED: () => "Approved",
  TICKET_REJECTED: (data) => `Rejected${because(data)}`,
  TICKET_COMMENTED: (data) => `Said: ${text(data["content"])}`,
  TICKET_DEPENDENCY_UPDATED: (data) =>
    list(data["added"]).length > 0 ? "Waits for another ticket" : "Waits for one ticket less",
};
const REPEATED = "ticket.status_transitioned";

const BY: Readonly<Record<string, string>> = { user: "a person", server: "Drover", guardian: "the guardian" };

export function TicketHistory({ ticketId }: { readonly ticketId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Panel
      title="History"
      action={
        <Button size="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide" : "Show"}
        </Button>
      }
    >
      {isOpen ? (
        <Steps ticketId={ticketId} />
      ) : (
        <p className="px-4 py-3 text-xs text-ink-3">Every step, change and comment, with its time.</p>
      )}
    </Panel>
  );
}

function Steps({ ticketId }: { readonly ticketId: string }) {
  const steps = useInfiniteQuery({
    queryKey: ["work", "history", ticketId],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.getTicketHistory({ params: { ticket_id: ticketId }, query: { limit: SHOWN, cursor } }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  if (steps.isError)
    return (
      <div className="p-4">
        <Problem error={steps.error} what="The history could not be read" onRetry={() => void steps.refetch()} />
      </div>
    );
  if (steps.isPending) return <div className="skeleton m-4 h-10" role="status" aria-label="Loading the history" />;
  const shown = steps.data.pages.flatMap(({ items }) => items).filter((one) => one.event_type !== REPEATED);
  return (
    <>
      <ol className="divide-y divide-line" aria-label="What happened to this ticket">
        {shown.map((one) => (
          <li
            key={one.seq}
            className="flex flex-wrap items-baseline gap-x-3 px-4 py-2 text-xs"
            data-step={one.event_type}
          >
            <span className="min-w-0 flex-1 basis-48 break-words text-ink">
              {WORDS[one.event_type]?.(one.event_data) ?? one.event_type}
            </span>
            <span className="text-ink-3">{BY[one.source] ?? one.source}</span>
            <time className="text-ink-3" dateTime={one.created_at}>
              {formatDay(one.created_at)}
            </time>
          </li>
        ))}
      </ol>
      {steps.hasNextPage && (
        <div className="border-t border-line px-4 py-2">
          <Button size="small" disabled={steps.isFetchingNextPage} onClick={() => void steps.fetchNextPage()}>
            Earlier
          </Button>
        </div>
      )}
    </>
  );
}
