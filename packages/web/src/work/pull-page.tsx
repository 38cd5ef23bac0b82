/** One pull request: what it changes, whether it can be merged, and the button that does. */
import type { PullRequestDetail } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { GitBranch } from "lucide-react";
import { formatDay, plural } from "../data/format.ts";
import { Markdown } from "../feed/markdown.tsx";
import { Problem } from "../ui/problem.tsx";
import { PullBadge } from "./badges.tsx";
import { CommitLines } from "./commit-lines.tsx";
import { MergeBox } from "./merge-box.tsx";
import { Loading, PageFrame, Panel } from "./page-frame.tsx";
import { PullFiles } from "./pull-files.tsx";
import { pullQuery } from "./queries.ts";
import { useMay } from "../data/use-may.ts";

export function PullPage() {
  const { pullId } = useParams({ from: "/inside/tasks/pulls/$pullId" });
  const pull = useQuery(pullQuery(pullId));
  if (pull.isError)
    return (
      <div className="grid h-full place-items-center p-6">
        <Problem error={pull.error} what="This pull request could not be read" onRetry={() => void pull.refetch()} />
      </div>
    );
  return pull.data === undefined ? <Loading /> : <Opened key={pullId} pull={pull.data} />;
}

function Opened({ pull }: { readonly pull: PullRequestDetail }) {
  const mayOperate = useMay("operate");
  return (
    <PageFrame
      title={`#${pull.number} ${pull.title}`}
      badges={
        <>
          <PullBadge state={pull.state} />
          <span className="inline-flex min-w-0 items-center gap-1 font-mono">
            <GitBranch size={13} aria-hidden className="shrink-0" />
            <span className="wrap-anywhere">
              {pull.head_branch} → {pull.base_branch}
            </span>
          </span>
          {pull.ticket_id !== null && (
            <Link
              to="/tasks/tickets/$ticketId"
              params={{ ticketId: pull.ticket_id }}
              className="font-medium text-live-ink underline underline-offset-2"
            >
              its ticket
            </Link>
          )}
          <span>
            {plural(pull.commits.length, "commit")}, {plural(pull.files.length, "file")}
          </span>
          {pull.merged_at !== null && <span>merged {formatDay(pull.merged_at)}</span>}
        </>
      }
    >
      {pull.body.trim() !== "" && (
        <div className="max-w-3xl text-sm">
          <Markdown text={pull.body} />
        </div>
      )}
      {pull.state === "open" && <MergeBox pull={pull} mayOperate={mayOperate} />}
      <PullFiles pull={pull} />
      <Panel title="Commits">
        <CommitLines commits={pull.commits} />
      </Panel>
    </PageFrame>
  );
}
