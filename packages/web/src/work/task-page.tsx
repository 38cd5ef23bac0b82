/** One task: what it is, what it waits for, and every attempt at it. */
import {
  ACTIVE_TASK_STATES,
  ENDED_TASK_STATES,
  type AttemptOutcome,
  type Task,
  type TaskAttempt,
} from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Ban, RotateCw } from "lucide-react";
import { useState, type ReactNode } from "react";
import { client } from "../data/client.ts";
import { formatDay, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { queryClient } from "../data/queries.ts";
import { Json } from "../feed/json.tsx";
import { Markdown } from "../feed/markdown.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Confirm } from "../ui/confirm.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { PriorityMark, TaskBadge } from "./badges.tsx";
import { Loading, PageFrame, Panel } from "./page-frame.tsx";
import { attemptsQuery, taskQuery, tasksQuery, ticketQuery } from "./queries.ts";
import { TaskList } from "./task-list.tsx";
import { useMay } from "../data/use-may.ts";

export function TaskPage() {
  const { taskId } = useParams({ from: "/inside/tasks/$taskId" });
  const task = useQuery(taskQuery(taskId));
  if (task.isError)
    return (
      <div className="grid h-full place-items-center p-6">
        <Problem error={task.error} what="This task could not be read" onRetry={() => void task.refetch()} />
      </div>
    );
  return task.data === undefined ? <Loading /> : <Opened key={taskId} task={task.data} />;
}

function Opened({ task }: { readonly task: Task }) {
  const mayOperate = useMay("operate");
  const attempts = useQuery(attemptsQuery(task.id));
  const siblings = useQuery(tasksQuery({ ticketId: task.ticket_id }));
  const ticket = useQuery(ticketQuery(task.ticket_id));
  const all = siblings.data?.items ?? [];
  const waitsFor = all.filter((one) => task.dependencies.depends_on.includes(one.id));
  const blocks = all.filter((one) => one.dependencies.depends_on.includes(task.id));
  return (
    <PageFrame
      title={task.title}
      badges={
        <>
          <TaskBadge status={task.status} />
          <PriorityMark priority={task.priority} />
          <span>{task.task_type}</span>
          <span>
            of{" "}
            <Link
              to="/tasks/tickets/$ticketId"
              params={{ ticketId: task.ticket_id }}
              className="font-medium text-live-ink underline underline-offset-2"
            >
              {ticket.data?.title ?? "its ticket"}
            </Link>
          </span>
          {task.is_ready && <span className="text-live-ink">ready, score {task.score.toFixed(2)}</span>}
        </>
      }
      actions={mayOperate && <TaskActions task={task} />}
      note={
        (task.error_message ?? task.status_reason) !== null && (
          <p className={cx("text-sm break-words", task.status === "failed" ? "text-fail-ink" : "text-ink-2")}>
            {task.error_message ?? task.status_reason}
          </p>
        )
      }
    >
      {task.description !== null && task.description !== "" && (
        <div className="max-w-3xl text-sm">
          <Markdown text={task.description} />
        </div>
      )}
      <Panel title="Attempts">
        {attempts.isError && (
          <div className="p-4">
            <Problem
              error={attempts.error}
              what="The attempts could not be read"
              onRetry={() => void attempts.refetch()}
            />
          </div>
        )}
        {attempts.data?.items.length === 0 && (
          <p className="px-4 py-3 text-xs text-ink-3">
            Nobody has begun. {task.is_ready ? "It is next in line." : "It waits."}
          </p>
        )}
        <ol className="divide-y divide-line" aria-label="Attempts">
          {attempts.data?.items.map((attempt) => (
            <Attempt key={`${attempt.kind}${attempt.number}`} attempt={attempt} />
          ))}
        </ol>
      </Panel>
      <div className="grid gap-6 lg:grid-cols-2">
        <Panel title="Waits for">
          {waitsFor.length === 0 ? (
            <p className="px-4 py-3 text-xs text-ink-3">Nothing.</p>
          ) : (
            <TaskList tasks={waitsFor} label="Waits for" />
          )}
        </Panel>
        <Panel title="Others wait for it">
          {blocks.length === 0 ? (
            <p className="px-4 py-3 text-xs text-ink-3">Nobody.</p>
          ) : (
            <TaskList tasks={blocks} label="Others wait for it" />
          )}
        </Panel>
        <Panel title="Terms">
          <dl className="grid grid-cols-[8.5rem_1fr] gap-y-1.5 px-4 py-3 text-xs">
            <Term name="id">{task.id}</Term>
            <Term name="files">{task.owned_files.join(", ") || "any"}</Term>
            <Term name="retries">
              {task.retry_count} of {task.max_retries}
            </Term>
            {task.not_before !== null && <Term name="not before">{formatDay(task.not_before)}</Term>}
            {task.timeout_seconds !== null && <Term name="time limit">{formatSpan(task.timeout_seconds * 1_000)}</Term>}
            {task.deadline_at !== null && <Term name="deadline">{formatDay(task.deadline_at)}</Term>}
            {task.estimated_seconds !== null && (
              <Term name="estimate">{formatSpan(task.estimated_seconds * 1_000)}</Term>
            )}
            <Term name="validated">
              {task.validation_enabled ? `by a second agent, round ${task.validation_iteration}` : "no"}
            </Term>
            {task.last_validation_feedback !== null && <Term name="feedback">{task.last_validation_feedback}</Term>}
          </dl>
        </Panel>
        {task.result !== null && (
          <Panel title="Result">
            <div className="px-4 pb-3">
              <Json value={task.result} label="Result" />
            </div>
          </Panel>
        )}
      </div>
    </PageFrame>
  );
}

function Term({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="font-mono break-words">{children}</dd>
    </>
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

function TaskActions({ task }: { readonly task: Task }) {
  const [isAsking, setAsking] = useState(false);
  const read = () => queryClient.invalidateQueries({ queryKey: ["work"] });
  const cancel = useMutation({
    mutationFn: () => client.cancelTask({ params: { task_id: task.id } }),
    onSuccess: read,
    onError: (error) => notify.bad(`Not cancelled: ${error.message}`),
  });
  const retry = useMutation({
    mutationFn: () => client.retryTask({ params: { task_id: task.id } }),
    onSuccess: read,
    onError: (error) => notify.bad(`Not retried: ${error.message}`),
  });
  const isOver = ENDED_TASK_STATES.has(task.status);
  return (
    <>
      {(task.status === "failed" || task.status === "cancelled") && (
        <Button size="small" className="max-md:h-9" disabled={retry.isPending} onClick={() => retry.mutate()}>
          <RotateCw size={13} /> Retry
        </Button>
      )}
      {!isOver && (
        <Button size="small" className="max-md:h-9" disabled={cancel.isPending} onClick={() => setAsking(true)}>
          <Ban size={13} /> Cancel
        </Button>
      )}
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => cancel.mutate()}
        title="Cancel this task?"
        text={
          ACTIVE_TASK_STATES.has(task.status)
            ? "Its sandbox is stopped. Tasks that wait for it will not run."
            : "Tasks that wait for it will not run."
        }
        verb="Cancel task"
      />
    </>
  );
}
