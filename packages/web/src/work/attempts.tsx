/** Every attempt at a task: how it ended, how long it took, and the sandbox it was made in. */
import type { AttemptOutcome, Task, TaskAttempt } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";
import { attemptsQuery } from "./queries.ts";

export function Attempts({ task }: { readonly task: Task }) {
  const attempts = useQuery(attemptsQuery(task.id));
  if (attempts.isError)
    return (
      <div className="p-4">
        <Problem error={attempts.error} what="The attempts could not be read" onRetry={() => void attempts.refetch()} />
      </div>
    );
  if (attempts.isPending) return <div className="skeleton m-3 h-10" role="status" aria-label="Loading attempts" />;
  if (attempts.data.items.length === 0)
    return (
      <p className="px-4 py-3 text-xs text-ink-3">
        Nobody has begun. {task.is_ready ? "It is next in line." : "It waits."}
      </p>
    );
  return (
    <ol className="divide-y divide-line" aria-label="Attempts">
      {attempts.data.items.map((attempt) => (
        <Attempt key={`${attempt.kind}${attempt.number}`} attempt={attempt} />
      ))}
    </ol>
  );
}

const OUTCOMES: Readonly<Record<AttemptOutcome, string>> = {
  completed: "text-done-ink",
  passed: "text-done-ink",
  failed: "text-fail-ink",
  lost: "text-fail-ink",
  timed_out: "text-fail-ink",
  rejected: "text-wait-ink",
  cancelled: "text-ink-3",
};

function Attempt({ attempt }: { readonly attempt: TaskAttempt }) {
  const now = useNow();
  const start = Date.parse(attempt.started_at ?? attempt.created_at);
  const end = attempt.ended_at === null ? now : Date.parse(attempt.ended_at);
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm" data-attempt={attempt.number}>
      <span className="w-24 font-medium">
        {attempt.kind === "validation" ? "Validation" : "Attempt"} {attempt.number}
      </span>
      <span
        className={cx(
          "w-24 text-xs font-semibold",
          attempt.outcome === null ? "text-live-ink" : OUTCOMES[attempt.outcome],
        )}
      >
        {attempt.outcome?.replaceAll("_", " ") ?? "under way"}
      </span>
      <span className="min-w-0 flex-1 basis-40 text-xs break-words text-ink-3">
        {attempt.error_message ?? (attempt.resumes === null ? "" : "goes on where the last one stopped")}
      </span>
      <span className="text-xs text-ink-3 tabular-nums">{formatSpan(end - start)}</span>
      <Link
        to="/sandboxes/$sandboxId"
        params={{ sandboxId: attempt.sandbox_id }}
        className="font-mono text-xs text-live-ink underline underline-offset-2"
      >
        {attempt.sandbox_id}
      </Link>
    </li>
  );
}
