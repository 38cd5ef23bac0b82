/** One ticket: its tasks, their graph, its branch and pull request, what stands in the way, what is said on it and what happened to it. */
import type { Ticket } from "@drover/contract";
import { TICKET_MOVES } from "@drover/contract/views";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Check, Lock, LockOpen, Plus, X } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { client } from "../data/client.ts";
import { formatDay } from "../data/format.ts";
import { projectsQuery, queryClient } from "../data/queries.ts";
import { Markdown } from "../feed/markdown.tsx";
import { Button } from "../ui/button.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { PriorityMark, TICKET_LOOKS, TicketBadge, WaitsForPerson } from "./badges.tsx";
import { Progress } from "./board-card.tsx";
import { NewTask } from "./new-task.tsx";
import { Loading, PageFrame, Panel } from "./page-frame.tsx";
import { tasksQuery, ticketGraphQuery, ticketQuery } from "./queries.ts";
import { TaskList } from "./task-list.tsx";
import { TicketBlockers } from "./ticket-blockers.tsx";
import { TicketComments } from "./ticket-comments.tsx";
import { TicketGit, TicketPull } from "./ticket-git.tsx";
import { TicketHistory } from "./ticket-history.tsx";
import { ResolveTicket } from "./ticket-resolve.tsx";
import { useMay } from "../data/use-may.ts";
import { WaitingProject } from "./waiting-project.tsx";

const Dag = lazy(() => import("./dag.tsx").then((module) => ({ default: module.Dag })));

export function TicketPage() {
  const { ticketId } = useParams({ from: "/inside/tasks/tickets/$ticketId" });
  const ticket = useQuery(ticketQuery(ticketId));
  if (ticket.isError)
    return (
      <div className="grid h-full place-items-center p-6">
        <Problem error={ticket.error} what="This ticket could not be read" onRetry={() => void ticket.refetch()} />
      </div>
    );
  return ticket.data === undefined ? <Loading /> : <Opened key={ticketId} ticket={ticket.data} />;
}

function Opened({ ticket }: { readonly ticket: Ticket }) {
  const mayOperate = useMay("operate");
  const tasks = useQuery(tasksQuery({ ticketId: ticket.id }));
  const graph = useQuery(ticketGraphQuery(ticket.id));
  const projects = useQuery(projectsQuery);
  const [isAsking, setAsking] = useState(false);
  const project = projects.data?.items.find(({ id }) => id === ticket.project_id);
  // Until it is known nothing is said.
  const isAutonomous = project?.autonomous_execution_enabled !== false;
  const items = tasks.data?.items ?? [];
  const shown = items.toSorted((one, other) => one.created_at.localeCompare(other.created_at));
  return (
    <PageFrame
      title={ticket.title}
      badges={
        <>
          <TicketBadge status={ticket.status} />
          <PriorityMark priority={ticket.priority} />
          {ticket.ticket_type !== null && <span>{ticket.ticket_type}</span>}
          {ticket.is_blocked && (
            <span className="inline-flex items-center gap-1 text-wait-ink">
              <Lock size={12} aria-hidden /> blocked: {ticket.blocked_reason ?? "unknown"}
            </span>
          )}
          <Progress tasks={items} />
          <span>made {formatDay(ticket.created_at)}</span>
        </>
      }
      actions={
        mayOperate && (
          <>
            <TicketActions ticket={ticket} />
            <ResolveTicket ticket={ticket} />
          </>
        )
      }
      note={
        <>
          <Approval ticket={ticket} mayOperate={mayOperate} />
          <Blocked ticket={ticket} mayOperate={mayOperate} />
          {!isAutonomous && <WaitingProject tasks={items} />}
        </>
      }
    >
      {ticket.description !== null && ticket.description !== "" && (
        <div className="max-w-3xl text-sm">
          <Markdown text={ticket.description} />
        </div>
      )}
      <div className="grid gap-6 xl:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="min-w-0">
          <Panel
            title="Tasks"
            action={
              mayOperate && (
                <Button size="small" onClick={() => setAsking(true)}>
                  <Plus size={14} /> New task
                </Button>
              )
            }
          >
            {tasks.isError ? (
              <div className="p-4">
                <Problem error={tasks.error} what="The tasks could not be read" onRetry={() => void tasks.refetch()} />
              </div>
            ) : (
              <TaskList tasks={shown} label="Tasks of this ticket" />
            )}
          </Panel>
        </div>
        <div className="flex min-w-0 flex-col gap-6">
          <TicketBlockers ticket={ticket} mayOperate={mayOperate} />
          <TicketGit ticket={ticket} mayOperate={mayOperate} />
        </div>
      </div>
      <TicketPull ticket={ticket} mayOperate={mayOperate} />
      {graph.data !== undefined && graph.data.nodes.length > 1 && (
        <Panel title="What waits for what">
          <div className="flex h-80 flex-col">
            <Suspense fallback={<div className="skeleton m-4 flex-1" />}>
              <Dag graph={graph.data} />
            </Suspense>
          </div>
        </Panel>
      )}
      <div className="grid gap-6 xl:grid-cols-[minmax(0,1fr)_24rem]">
        <TicketComments ticketId={ticket.id} mayOperate={mayOperate} />
        <TicketHistory ticketId={ticket.id} />
      </div>
      <NewTask
        isOpen={isAsking}
        ticketId={ticket.id}
        tasks={shown}
        isAutonomous={isAutonomous}
        onClose={() => setAsking(false)}
      />
    </PageFrame>
  );
}

const readWork = () => queryClient.invalidateQueries({ queryKey: ["work"] });

function TicketActions({ ticket }: { readonly ticket: Ticket }) {
  const move = useMutation({
    mutationFn: (to: Ticket["status"]) =>
      client.transitionTicket({ params: { ticket_id: ticket.id }, body: { to_status: to } }),
    onSuccess: readWork,
    onError: (error) => notify.bad(`Not moved: ${error.message}`),
  });
  return TICKET_MOVES[ticket.status].map((status) => (
    <Button
      key={status}
      size="small"
      className="max-md:h-9"
      disabled={move.isPending}
      onClick={() => move.mutate(status)}
    >
      Move to {TICKET_LOOKS[status].word ?? status}
    </Button>
  ));
}

function Approval({ ticket, mayOperate }: { readonly ticket: Ticket; readonly mayOperate: boolean }) {
  const [reason, setReason] = useState("");
  const decide = useMutation({
    mutationFn: (isApproved: boolean) =>
      isApproved
        ? client.approveTicket({ params: { ticket_id: ticket.id } })
        : client.rejectTicket({ params: { ticket_id: ticket.id }, body: { rejection_reason: reason.trim() } }),
    onSuccess: readWork,
    onError: (error) => notify.bad(`Not decided: ${error.message}`),
  });
  if (ticket.approval_status === "rejected")
    return (
      <p className="text-sm text-fail-ink">
        Rejected{ticket.rejection_reason === null ? "" : `: ${ticket.rejection_reason}`}
      </p>
    );
  if (ticket.approval_status !== "pending_review") return null;
  return (
    <div
      role="region"
      aria-label="Approval"
      className="mt-2 flex flex-wrap items-center gap-3 rounded-xl border border-wait bg-wait-soft px-4 py-2.5"
    >
      <WaitsForPerson
        text={`Waits for approval${ticket.approval_deadline_at === null ? "" : ` until ${formatDay(ticket.approval_deadline_at)}`}`}
      />
      <span className="flex-1" />
      {mayOperate && (
        <>
          <input
            aria-label="Reason for a rejection"
            placeholder="Reason, to reject"
            value={reason}
            maxLength={2_000}
            onChange={(event) => setReason(event.target.value)}
            className="h-8 min-w-0 flex-1 basis-48 rounded-lg border border-line-strong bg-surface px-2.5 text-xs"
          />
          <Button size="small" disabled={decide.isPending || reason.trim() === ""} onClick={() => decide.mutate(false)}>
            <X size={13} /> Reject
          </Button>
          <Button size="small" look="live" disabled={decide.isPending} onClick={() => decide.mutate(true)}>
            <Check size={13} /> Approve
          </Button>
        </>
      )}
    </div>
  );
}

/** What stopped work on it, in the words of whatever did, and the way on once that is out of the way. */
function Blocked({ ticket, mayOperate }: { readonly ticket: Ticket; readonly mayOperate: boolean }) {
  const unblock = useMutation({
    mutationFn: () => client.unblockTicket({ params: { ticket_id: ticket.id } }),
    onSuccess: readWork,
    onError: (error) => notify.bad(`Not unblocked: ${error.message}`),
  });
  if (!ticket.is_blocked) return null;
  const { blocked_cause: cause } = ticket.context;
  return (
    <div
      role="region"
      aria-label="Blocked"
      className="mt-2 flex flex-wrap items-center gap-3 rounded-xl border border-wait bg-wait-soft px-4 py-2.5"
    >
      <p className="min-w-0 flex-1 basis-64 text-sm break-words text-wait-ink">
        {typeof cause === "string" ? cause : `No work on it begins: ${ticket.blocked_reason ?? "blocked"}.`}
      </p>
      {mayOperate && (
        <Button size="small" look="live" disabled={unblock.isPending} onClick={() => unblock.mutate()}>
          <LockOpen size={13} /> Unblock
        </Button>
      )}
    </div>
  );
}
