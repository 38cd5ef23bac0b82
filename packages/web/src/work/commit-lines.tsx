/** Commits of a branch, the newest first. */
import type { PullRequestDetail } from "@drover/contract";
import { formatDay } from "../data/format.ts";

export function CommitLines({ commits }: { readonly commits: PullRequestDetail["commits"] }) {
  if (commits.length === 0) return <p className="px-4 py-3 text-xs text-ink-3">No commit.</p>;
  return (
    <ul className="divide-y divide-line">
      {commits.map((commit) => (
        <li key={commit.id} className="flex flex-wrap items-center gap-x-4 px-4 py-2 text-sm">
          <code className="font-mono text-xs text-ink-3">{commit.id.slice(0, 10)}</code>
          <span className="min-w-0 flex-1 truncate">{commit.subject}</span>
          <span className="text-xs text-ink-3">
            {commit.author}, {formatDay(commit.at)}
          </span>
        </li>
      ))}
    </ul>
  );
}
