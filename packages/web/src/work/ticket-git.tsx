/** A ticket at the Git host: its branch and commits, its pull requests and what they change, and how its tasks' branches came together. */
import type { MergeAttempt, PullRequest, Ticket } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { GitBranch, GitMerge, GitPullRequest, TriangleAlert } from "lucide-react";
import { client } from "../data/client.ts";
import { formatDay, plural } from "../data/format.ts";
import { queryClient } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { notify } from "../ui/notify.ts";
import { PullBadge } from "./badges.tsx";
import { CommitLines } from "./commit-lines.tsx";
import { MergeBox } from "./merge-box.tsx";
import { Panel } from "./page-frame.tsx";
import { PullFiles } from "./pull-files.tsx";
import { mergeAttemptsQuery, pullQuery, pullsQuery, ticketCommitsQuery } from "./queries.ts";

export function TicketGit({ ticket, mayOperate }: { readonly ticket: Ticket; readonly mayOperate: boolean }) {
  const pulls = useQuery(pullsQuery({ ticketId: ticket.id }));
  const attempts = useQuery(mergeAttemptsQuery(ticket.id));
  const items = pulls.data?.items ?? [];
  const isOpen = items.some((pull) => pull.state === "open");
  const finish = useMutation({
    mutationFn: () => client.finishBranch({ body: { ticket_id: ticket.id } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["work"] }),
    onError: (error) => notify.bad(`No pull request: ${error.message}`),
  });
  return (
    <div className="flex min-w-0 flex-col gap-6">
      <Branch ticketId={ticket.id} />
      <Panel
        title="Pull requests"
        action={
          mayOperate &&
          !isOpen && (
            <Button size="small" disabled={finish.isPending} onClick={() => finish.mutate()}>
              <GitPullRequest size={13} /> Open one
            </Button>
          )
        }
      >
        {items.length === 0 && (
          <p className="px-4 py-3 text-xs text-ink-3">
            None yet. One is opened when all tasks are done, or as soon as the branch has a commit and you ask for it.
          </p>
        )}
        <ul className="divide-y divide-line">
          {items.map((pull) => (
            <PullLine key={pull.id} pull={pull} />
          ))}
        </ul>
      </Panel>
      {attempts.data !== undefined && attempts.data.items.length > 0 && (
        <Panel title="How branches came together">
          <ul className="divide-y divide-line">
            {attempts.data.items.map((attempt) => (
              <Attempt key={attempt.id} attempt={attempt} />
            ))}
          </ul>
        </Panel>
      )}
    </div>
  );
}

function Branch({ ticketId }: { readonly ticketId: string }) {
  const { data } = useQuery(ticketCommitsQuery(ticketId));
  if (data === undefined) return null;
  return (
    <Panel title="Branch">
      {data.branch === null ? (
        <p className="px-4 py-3 text-xs text-ink-3">None yet. It is made for the first task that begins.</p>
      ) : (
        <>
          <p className="flex min-w-0 items-center gap-1 border-b border-line px-4 py-2 font-mono text-xs">
            <GitBranch size={13} aria-hidden className="shrink-0" />
            <span className="min-w-0 break-all">{data.branch}</span>
          </p>
          <div className="max-h-64 overflow-y-auto" tabIndex={0} role="group" aria-label="Commits">
            <CommitLines commits={data.commits} />
          </div>
        </>
      )}
    </Panel>
  );
}

/** The open pull request of a ticket, on the ticket's own page: whether it can be merged, the buttons, and what it changes. */
export function TicketPull({ ticket, mayOperate }: { readonly ticket: Ticket; readonly mayOperate: boolean }) {
  const pulls = useQuery(pullsQuery({ ticketId: ticket.id }));
  const open = pulls.data?.items.find((pull) => pull.state === "open");
  return open === undefined ? null : <OpenPull id={open.id} mayOperate={mayOperate} />;
}

function OpenPull({ id, mayOperate }: { readonly id: string; readonly mayOperate: boolean }) {
  const { data: pull } = useQuery(pullQuery(id));
  if (pull === undefined) return null;
  return (
    <>
      {pull.state === "open" && <MergeBox pull={pull} mayOperate={mayOperate} />}
      <PullFiles pull={pull} />
    </>
  );
}

function PullLine({ pull }: { readonly pull: PullRequest }) {
  return (
    <li className="relative flex flex-col gap-1 px-4 py-2.5 hover:bg-hover" data-pull={pull.id}>
      <div className="flex items-center gap-2">
        <PullBadge state={pull.state} />
        <Link
          to="/tasks/pulls/$pullId"
          params={{ pullId: pull.id }}
          className="min-w-0 truncate text-sm font-medium after:absolute after:inset-0 focus-visible:outline-none after:focus-visible:outline-2 after:focus-visible:-outline-offset-2 after:focus-visible:outline-live"
        >
          #{pull.number} {pull.title}
        </Link>
      </div>
      <p className="flex min-w-0 items-center gap-1 font-mono text-2xs text-ink-3">
        <GitBranch size={12} aria-hidden className="shrink-0" />
        <span className="truncate">{pull.head_branch}</span> → <span className="truncate">{pull.base_branch}</span>
      </p>
    </li>
  );
}

const WORDS: Readonly<Record<MergeAttempt["status"], string>> = {
  in_progress: "under way",
  resolving: "being resolved by an agent",
  resolved: "resolved by an agent",
  testing: "being tested",
  completed: "merged",
  conflict: "in conflict",
  tests_failed: "failed the tests",
  manual: "needs a person",
  failed: "failed",
};

function Attempt({ attempt }: { readonly attempt: MergeAttempt }) {
  const isGood = !["conflict", "tests_failed", "manual", "failed"].includes(attempt.status);
  const Icon = isGood ? GitMerge : TriangleAlert;
  return (
    <li className="flex flex-col gap-1 px-4 py-2.5 text-xs">
      <p className={`flex items-center gap-1.5 font-medium ${isGood ? "text-done-ink" : "text-fail-ink"}`}>
        <Icon size={13} aria-hidden />
        {plural(attempt.source_task_ids.length, "branch").replace("branchs", "branches")} {WORDS[attempt.status]}
        <span className="ml-auto font-normal text-ink-3">{formatDay(attempt.created_at)}</span>
      </p>
      {attempt.error_message !== null && <p className="break-words text-fail-ink">{attempt.error_message}</p>}
      {attempt.conflicts.map((conflict) => (
        <div key={conflict.branch} className="text-ink-2">
          <p className="truncate font-mono">{conflict.branch}</p>
          <ul className="ml-3 list-disc">
            {conflict.files.map((file) => (
              <li key={file.path} className="font-mono break-all">
                {file.path} <span className="font-sans text-ink-3">{file.kind}</span>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </li>
  );
}
