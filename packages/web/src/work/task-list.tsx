/** Tasks as lines: the state, what it is, what it waits for, who works on it. */
import type { Task } from "@drover/contract";
import { Link } from "@tanstack/react-router";
import { Boxes, CornerDownRight } from "lucide-react";
import { useMemo } from "react";
import { useKeys } from "../app/keys.ts";
import { formatAge, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { PriorityMark, TaskBadge } from "./badges.tsx";
import { walkCards } from "./walk-cards.ts";

interface TaskListProps {
  readonly tasks: readonly Task[];
  readonly label: string;
}

const ENDED: ReadonlySet<string> = new Set(["completed", "skipped"]);

export function TaskList({ tasks, label }: TaskListProps) {
  useKeys({ nextTicket: () => walkCards("task", 1), previousTicket: () => walkCards("task", -1) });
  const byId = useMemo(() => new Map(tasks.map((task) => [task.id as string, task])), [tasks]);
  if (tasks.length === 0) return <p className="px-4 py-6 text-center text-sm text-ink-3">No task yet.</p>;
  return (
    <ul aria-label={label} className="divide-y divide-line">
      {tasks.map((task) => {
        const waits = task.dependencies.depends_on.flatMap((id) => {
          const other = byId.get(id);
          return other === undefined || ENDED.has(other.status) ? [] : [other.title];
        });
        return <TaskLine key={task.id} task={task} waits={waits} />;
      })}
    </ul>
  );
}

function TaskLine({ task, waits }: { readonly task: Task; readonly waits: readonly string[] }) {
  const now = useNow();
  return (
    <li
      data-task={task.id}
      className="relative grid grid-cols-[8.5rem_1fr_auto] items-center gap-x-4 gap-y-0.5 px-4 py-2.5 hover:bg-hover has-focus-visible:bg-hover max-sm:grid-cols-[1fr_auto]"
    >
      <span className="max-sm:col-span-2">
        <TaskBadge status={task.status} />
      </span>
      <div className="min-w-0">
        <Link
          to="/tasks/$taskId"
          params={{ taskId: task.id }}
          className="block truncate text-sm font-medium after:absolute after:inset-0 focus-visible:outline-none after:focus-visible:outline-2 after:focus-visible:-outline-offset-2 after:focus-visible:outline-live"
        >
          {task.title}
        </Link>
        <p className="flex min-w-0 items-center gap-2 text-xs text-ink-3">
          {waits.length > 0 ? (
            <span className="inline-flex min-w-0 items-center gap-1">
              <CornerDownRight size={12} aria-hidden className="shrink-0" />
              <span className="truncate">waits for {waits.join(", ")}</span>
            </span>
          ) : (
            <span className="truncate">{task.error_message ?? task.status_reason ?? task.task_type}</span>
          )}
          {task.retry_count > 0 && (
            <span className="shrink-0">{plural(task.retry_count, "retry").replace("retrys", "retries")}</span>
          )}
        </p>
      </div>
      <p className="flex items-center gap-4 text-xs text-ink-3 tabular-nums">
        {task.sandbox_id !== null && (
          <Link
            to="/sandboxes/$sandboxId"
            params={{ sandboxId: task.sandbox_id }}
            className="relative z-10 inline-flex items-center gap-1 rounded text-live-ink hover:underline"
          >
            <Boxes size={13} aria-hidden /> <span className="max-md:sr-only">sandbox</span>
          </Link>
        )}
        <PriorityMark priority={task.priority} />
        <time dateTime={task.updated_at} className="w-8 text-right">
          {formatAge(now - Date.parse(task.updated_at))}
        </time>
      </p>
    </li>
  );
}
