/** What a run did at the Git host: its branch and how far it went from where it started, its commits, its pull request. */
import { TERMINAL_SANDBOX_STATES, type PullRequest, type Sandbox } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ExternalLink, GitBranch } from "lucide-react";
import { formatDay, plural } from "../data/format.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Empty } from "../ui/empty.tsx";
import { Problem } from "../ui/problem.tsx";
import { PullBadge } from "../work/badges.tsx";
import { Panel } from "../work/page-frame.tsx";
import { gitQuery, type SandboxGit } from "./queries.ts";

export function GitTab({ sandbox }: { readonly sandbox: Sandbox }) {
  const git = useQuery(gitQuery(sandbox.id, TERMINAL_SANDBOX_STATES.has(sandbox.state)));
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Git">
      <div className="mx-auto flex max-w-3xl flex-col gap-7 px-4 py-5 md:px-6">
        {git.isError && (
          <Problem error={git.error} what="The branch could not be read" onRetry={() => void git.refetch()} />
        )}
        {git.isPending && <div className="skeleton h-60" role="status" aria-label="Loading the branch" />}
        {git.data !== undefined &&
          (git.data.branch === null ? (
            <Empty title="No branch">
              A run has one when it works at a task, or when its sandbox was made from a repository.
            </Empty>
          ) : (
            <>
              <Branch git={git.data} branch={git.data.branch} repo={sandbox.repo} />
              {sandbox.repo === null && (
                <>
                  <Pull pull={git.data.pull_request} />
                  <Commits git={git.data} />
                </>
              )}
            </>
          ))}
      </div>
    </div>
  );
}

interface BranchProps {
  readonly git: SandboxGit;
  readonly branch: string;
  /** A repository that is not the project's own: nobody here knows its commits. */
  readonly repo: string | null;
}

function toDistance({ base_branch: base, head_commit: head, ...git }: SandboxGit): string {
  const from = base ?? "its base";
  if (head === null) return `nothing pushed yet, begins at ${from}`;
  return `${git.ahead_by} ahead of ${from}, ${git.behind_by} behind, ${plural(git.files_changed, "file")} changed`;
}

function Branch({ git, branch, repo }: BranchProps) {
  return (
    <Panel title="Branch">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
        <div className="flex min-w-0 flex-1 basis-64 items-center gap-2 text-sm">
          <GitBranch size={14} aria-hidden className="shrink-0 text-ink-3" />
          <code className="truncate font-mono" title={branch}>
            {branch}
          </code>
          <CopyButton text={branch} name="the branch" />
        </div>
        <p className="text-xs wrap-anywhere text-ink-3 tabular-nums">
          {repo === null ? toDistance(git) : `its commits are told at ${repo} only`}
        </p>
      </div>
    </Panel>
  );
}

function Pull({ pull }: { readonly pull: PullRequest | null }) {
  return (
    <Panel title="Pull request">
      {pull === null ? (
        <p className="px-4 py-3 text-xs text-ink-3">None yet.</p>
      ) : (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-3">
          <PullBadge state={pull.state} />
          <Link
            to="/tasks/pulls/$pullId"
            params={{ pullId: pull.id }}
            className="min-w-0 flex-1 basis-48 truncate rounded text-sm font-medium hover:underline"
          >
            #{pull.number} {pull.title}
          </Link>
          {pull.url !== null && /^https?:/.test(pull.url) && (
            <a
              href={pull.url}
              target="_blank"
              rel="noreferrer"
              className="inline-flex items-center gap-1 text-xs text-live-ink underline underline-offset-2"
            >
              {URL.parse(pull.url)?.host ?? "the host"} <ExternalLink size={12} aria-hidden />
            </a>
          )}
        </div>
      )}
    </Panel>
  );
}

function Commits({ git: { commits, ahead_by: ahead } }: { readonly git: SandboxGit }) {
  return (
    <Panel title="Commits">
      <ul className="divide-y divide-line">
        {commits.map((commit) => (
          <li key={commit.id} className="flex flex-wrap items-center gap-x-4 px-4 py-2 text-sm">
            <code className="font-mono text-xs text-ink-3">{commit.id.slice(0, 10)}</code>
            <span className="min-w-0 flex-1 basis-48 truncate">{commit.subject}</span>
            <span className="text-xs text-ink-3">
              {commit.author}, {formatDay(commit.at)}
            </span>
          </li>
        ))}
        {commits.length === 0 && <li className="px-4 py-3 text-xs text-ink-3">None of its own yet.</li>}
        {ahead > commits.length && (
          <li className="px-4 py-2 text-xs text-ink-3">
            {commits.length} of {ahead} are shown.
          </li>
        )}
      </ul>
    </Panel>
  );
}
