/** Tickets that do not get on: what is done about each, and what was found out about those that were looked into. */
import type { DiagnosticRun, StuckTicket } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Stethoscope } from "lucide-react";
import { client } from "../data/client.ts";
import { formatAge, formatDay, formatSpan, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { queryClient } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Section } from "../pages/section.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Empty } from "../ui/empty.tsx";
import { Listing } from "../ui/listing.tsx";
import { notify } from "../ui/notify.ts";
import { ticketsQuery } from "../work/queries.ts";
import { SandboxName, useTitles } from "./evidence.tsx";
import { diagnosesQuery, stuckTicketsQuery } from "./queries.ts";
import { Score } from "./words.tsx";

/** Why it is looked into next, or why not. */
const VERDICTS: Readonly<Record<StuckTicket["verdict"], string>> = {
  stuck: "is looked into next",
  held: "is held, so nothing is done by itself",
  needs_person: "waits for a person",
  gave_up: "was given up: the same was found twice",
  limit_reached: "was helped as often as is allowed",
  cooling_down: "was looked into a moment ago",
  too_early: "failed a moment ago and may still get on",
};

const STATUSES: Readonly<Record<DiagnosticRun["status"], { readonly word: string; readonly look: string }>> = {
  running: { word: "being helped", look: "bg-live-soft text-live-ink" },
  completed: { word: "helped", look: "bg-done-soft text-done-ink" },
  failed: { word: "did not help", look: "bg-fail-soft text-fail-ink" },
};

export function StuckTab() {
  const stuck = useQuery(stuckTicketsQuery);
  const runs = useQuery(diagnosesQuery);
  const tickets = useQuery(ticketsQuery(undefined));
  const sandboxes = useTitles();
  const titles = new Map([
    ...sandboxes,
    ...(tickets.data?.items ?? []).map((ticket) => [ticket.id as string, ticket.title] as const),
  ]);
  return (
    <>
      <Section title="Stuck tickets">
        <Listing
          read={stuck}
          what="The stuck tickets"
          height="h-24"
          empty={
            <Empty title="No ticket is stuck">
              A ticket stands here when something of it failed and nothing of it runs or waits any more.
            </Empty>
          }
        >
          {(items) => items.map((ticket) => <StuckLine key={ticket.ticket_id} ticket={ticket} />)}
        </Listing>
      </Section>
      <Section title="Diagnoses">
        <Listing
          read={runs}
          what="The diagnoses"
          height="h-24"
          empty={<Empty title="Nothing was looked into yet">What was found out about a stuck ticket stays here.</Empty>}
        >
          {(items) => items.map((run) => <Diagnosis key={run.id} run={run} titles={titles} />)}
        </Listing>
      </Section>
    </>
  );
}

function StuckLine({ ticket }: { readonly ticket: StuckTicket }) {
  const mayOperate = useMay("operate");
  const look = useMutation({
    mutationFn: () => client.triggerDiagnostic({ params: { ticket_id: ticket.ticket_id } }),
    onSuccess: () => {
      notify.good("It was looked into");
      return queryClient.invalidateQueries({ queryKey: ["monitor"] });
    },
    onError: (error) => notify.bad(`Not looked into: ${error.message}`),
  });
  return (
    <article data-stuck={ticket.ticket_id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-56">
        <h3 className="truncate text-sm font-medium">
          <TicketLink id={ticket.ticket_id} title={ticket.title} />
        </h3>
        <p className="text-xs text-ink-3">
          {ticket.failed_tasks} of {plural(ticket.total_tasks, "task")} failed, {ticket.done_tasks} done
          {ticket.seconds_since_last_task !== null &&
            `, nothing for ${formatSpan(ticket.seconds_since_last_task * 1_000)}`}
          {" · "}
          {VERDICTS[ticket.verdict]}
        </p>
      </div>
      {mayOperate && (
        <Button size="small" disabled={look.isPending} onClick={() => look.mutate()}>
          <Stethoscope size={13} /> Look into it
        </Button>
      )}
    </article>
  );
}

const TicketLink = ({ id, title }: { readonly id: string; readonly title: string }) => (
  <Link to="/tasks/tickets/$ticketId" params={{ ticketId: id }} className="rounded hover:underline">
    {title}
  </Link>
);

const TaskLink = ({ id, children }: { readonly id: string; readonly children: string }) => (
  <Link
    to="/tasks/$taskId"
    params={{ taskId: id }}
    className="rounded font-medium text-live-ink underline underline-offset-2"
  >
    {children}
  </Link>
);

function Diagnosis({ run, titles }: { readonly run: DiagnosticRun; readonly titles: ReadonlyMap<string, string> }) {
  const now = useNow();
  const { word, look } = STATUSES[run.status];
  const { root_cause: cause, hypotheses, recommendations, confidence } = run.diagnosis;
  return (
    <article data-diagnosis={run.id} className="flex flex-col gap-2 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className={cx("inline-flex h-6 items-center rounded-full px-2.5 text-xs font-semibold", look)}>
          {word}
        </span>
        <h3 className="min-w-0 flex-1 basis-48 truncate text-sm font-medium">
          {run.ticket_id !== null ? (
            <TicketLink id={run.ticket_id} title={titles.get(run.ticket_id) ?? run.ticket_id} />
          ) : (
            run.sandbox_id !== null && <SandboxName id={run.sandbox_id} titles={titles} />
          )}
        </h3>
        <Score value={confidence} label="confidence" isNamed />
        <time
          className="text-xs text-ink-3 tabular-nums"
          dateTime={run.triggered_at}
          title={formatDay(run.triggered_at)}
        >
          {formatAge(now - Date.parse(run.triggered_at))}
        </time>
      </div>
      <p className="text-sm break-words">{cause}</p>
      {hypotheses.length > 0 && (
        <ul className="flex flex-col gap-1 border-l-2 border-line pl-3 text-xs text-ink-2">
          {hypotheses.map((hypothesis, at) => (
            <li key={at} className="break-words">
              {hypothesis.likelihood > 0 && (
                <span className="font-semibold tabular-nums">{Math.round(hypothesis.likelihood * 100)} % likely: </span>
              )}
              {hypothesis.statement}
              {hypothesis.supporting_evidence.length > 0 && (
                <span className="text-ink-3"> · {hypothesis.supporting_evidence.join("; ")}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      <p className="text-xs text-ink-3">
        {recommendations.map(({ description }) => description).join(" ")}{" "}
        {run.diagnostic_task_id !== null && <TaskLink id={run.diagnostic_task_id}>The task that is to help</TaskLink>}
      </p>
    </article>
  );
}
