/** One task: what it is, what it waits for, and every attempt at it. */
import type { Task } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { formatDay, formatPeriod } from "../data/format.ts";
import { Json } from "../feed/json.tsx";
import { Markdown } from "../feed/markdown.tsx";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";
import { Attempts } from "./attempts.tsx";
import { PriorityMark, TaskBadge } from "./badges.tsx";
import { Loading, PageFrame, Panel } from "./page-frame.tsx";
import { taskQuery, tasksQuery, ticketQuery } from "./queries.ts";
import { TaskActions } from "./task-actions.tsx";
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
        <Attempts task={task} />
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
            {task.timeout_seconds !== null && (
              <Term name="time limit">{formatPeriod(task.timeout_seconds * 1_000)}</Term>
            )}
            {task.deadline_at !== null && <Term name="deadline">{formatDay(task.deadline_at)}</Term>}
            {task.estimated_seconds !== null && (
              <Term name="estimate">{formatPeriod(task.estimated_seconds * 1_000)}</Term>
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
