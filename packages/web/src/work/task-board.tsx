/** Tasks in columns of how far they are, with what their sandboxes do at this moment. Who moves them is the dispatcher; a person may cancel and retry. */
import { ACTIVE_TASK_STATES, ENDED_TASK_STATES, type Task, type TaskStatus } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Boxes, CornerDownRight } from "lucide-react";
import { useMemo, useState } from "react";
import { useKeys } from "../app/keys.ts";
import { client } from "../data/client.ts";
import { toMoves, useFleet } from "../data/fleet.ts";
import { formatAge, formatCount } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { lastEventsQuery, queryClient } from "../data/queries.ts";
import { notify } from "../ui/notify.ts";
import { lookOfStatus, PriorityMark, TaskBadge } from "./badges.tsx";
import { CancelTask } from "./cancel-task.tsx";
import { walkCards } from "./walk-cards.ts";

const COLUMNS: readonly { readonly name: string; readonly states: readonly TaskStatus[] }[] = [
  { name: "Pending", states: ["pending", "blocked"] },
  { name: "Assigned", states: ["claiming", "assigned"] },
  { name: "Running", states: ["running"] },
  { name: "Validating", states: ["pending_validation", "validating", "needs_revision"] },
  { name: "Done", states: ["completed", "skipped"] },
  { name: "Failed", states: ["failed", "cancelled"] },
];
const DONE: ReadonlySet<TaskStatus> = new Set(["completed", "skipped"]);

interface TaskBoardProps {
  readonly tasks: readonly Task[];
  readonly mayMove: boolean;
}

export function TaskBoard({ tasks, mayMove }: TaskBoardProps) {
  const { asked, setAsked, send, move } = useMoves();
  const step = (to: To) => {
    const id = document.activeElement?.closest<HTMLElement>("[data-task]")?.dataset["task"];
    const task = tasks.find((one) => one.id === id);
    if (mayMove && task !== undefined && pickMove(task) === to && !send.isPending) move(task, to);
  };
  useKeys({
    moveForth: () => step("cancelled"),
    moveBack: () => step("pending"),
    nextTicket: () => walkCards("task", 1),
    previousTicket: () => walkCards("task", -1),
  });
  const byId = useMemo(() => new Map(tasks.map((task) => [task.id, task])), [tasks]);
  return (
    <div
      className="flex min-h-0 flex-1 snap-x scroll-px-4 gap-3 overflow-x-auto px-4 pb-4 md:scroll-px-6 md:px-6 xl:gap-2"
      tabIndex={0}
      role="region"
      aria-label="Board of tasks"
    >
      {COLUMNS.map(({ name, states }) => {
        const own = tasks.filter(({ status }) => states.includes(status));
        const { icon: Icon } = lookOfStatus(states[0] ?? name);
        return (
          <section
            key={name}
            aria-label={name}
            data-column={name}
            className="flex w-72 shrink-0 snap-start flex-col rounded-xl bg-sunken/60 xl:w-auto xl:min-w-48 xl:flex-1 xl:shrink"
          >
            <h2 className="flex items-center gap-1.5 px-3 py-2 text-xs font-semibold text-ink-2">
              <Icon size={14} aria-hidden className="text-ink-3" />
              {name} <span className="font-normal text-ink-3 tabular-nums">{formatCount(own.length)}</span>
            </h2>
            <ul className="flex min-h-16 flex-1 flex-col gap-2 overflow-y-auto px-2 pb-2">
              {own.map((task) => (
                <TaskCard
                  key={task.id}
                  task={task}
                  isOdd={task.status !== states[0]}
                  isMoving={send.isPending && send.variables.task.id === task.id}
                  onMove={mayMove ? (to) => move(task, to) : undefined}
                  waitsFor={task.dependencies.depends_on.flatMap((id) => {
                    const other = byId.get(id);
                    return other === undefined || DONE.has(other.status) ? [] : [other.title];
                  })}
                />
              ))}
            </ul>
          </section>
        );
      })}
      {asked !== undefined && (
        <CancelTask
          task={asked}
          isOpen
          onClose={() => setAsked(undefined)}
          onConfirm={() => send.mutate({ task: asked, to: "cancelled" })}
        />
      )}
    </div>
  );
}

interface TaskCardProps {
  readonly task: Task;
  /** Its state is not the one that its column is called after. */
  readonly isOdd: boolean;
  readonly isMoving: boolean;
  /** Absent for whoever may only look. */
  readonly onMove: ((to: To) => void) | undefined;
  readonly waitsFor: readonly string[];
}

function TaskCard({ task, isOdd, isMoving, onMove, waitsFor }: TaskCardProps) {
  const now = useNow();
  const isOver = ENDED_TASK_STATES.has(task.status);
  return (
    <li
      data-task={task.id}
      className="group relative flex flex-col gap-2 rounded-lg border border-line bg-surface p-3 shadow-card hover:border-line-strong has-[a:focus-visible]:border-live"
    >
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <PriorityMark priority={task.priority} />
        <span className="text-xs text-ink-3">{task.task_type}</span>
        <span className="flex-1" />
        {isOdd && <TaskBadge status={task.status} />}
      </div>
      <h3 className="text-sm leading-snug font-medium break-words">
        <Link
          to="/tasks/$taskId"
          params={{ taskId: task.id }}
          className="rounded after:absolute after:inset-0 after:rounded-lg focus-visible:outline-none after:focus-visible:outline-2 after:focus-visible:outline-live"
        >
          {task.title}
        </Link>
      </h3>
      {!isOver && waitsFor.length > 0 && (
        <p className="flex min-w-0 items-center gap-1 text-xs text-ink-3">
          <CornerDownRight size={12} aria-hidden className="shrink-0" />
          <span className="truncate">waits for {waitsFor.join(", ")}</span>
        </p>
      )}
      {task.status === "failed" && task.error_message !== null && (
        <p className="line-clamp-2 text-xs break-words text-fail-ink">{task.error_message}</p>
      )}
      {task.sandbox_id !== null && !isOver && <AtWork sandboxId={task.sandbox_id} />}
      <div className="flex h-7 items-center gap-2 text-xs text-ink-3 tabular-nums">
        <time dateTime={task.updated_at}>{formatAge(now - Date.parse(task.updated_at))}</time>
        <span className="flex-1" />
        {onMove !== undefined && <Move task={task} isMoving={isMoving} onMove={onMove} />}
      </div>
    </li>
  );
}

/** The last thing its agent did, as it does it. */
function AtWork({ sandboxId }: { readonly sandboxId: string }) {
  const known = useFleet((fleet) => fleet[sandboxId]?.moves.at(-1)?.text);
  // What it did before this page was open.
  const read = useQuery({ ...lastEventsQuery(sandboxId), enabled: known === undefined });
  const last = known ?? toMoves(read.data?.events ?? []).at(-1)?.text;
  return (
    <Link
      to="/sandboxes/$sandboxId"
      params={{ sandboxId }}
      className="relative z-10 flex min-w-0 items-center gap-1.5 rounded-md bg-live-soft px-2 py-1 text-xs text-live-ink hover:underline"
    >
      <Boxes size={12} aria-hidden className="shrink-0" />
      <span className="truncate font-mono">{last ?? "its sandbox"}</span>
    </Link>
  );
}

type To = "pending" | "cancelled";

/** Where a person may move it: back to the beginning, or out. */
function pickMove({ status }: Task): To | undefined {
  if (status === "failed" || status === "cancelled") return "pending";
  return ENDED_TASK_STATES.has(status) ? undefined : "cancelled";
}

function useMoves() {
  const [asked, setAsked] = useState<Task>();
  const send = useMutation({
    mutationFn: async ({ task, to }: { readonly task: Task; readonly to: To }): Promise<void> => {
      const params = { task_id: task.id };
      await (to === "pending" ? client.retryTask({ params }) : client.cancelTask({ params }));
    },
    onSuccess: (_, { task, to }) => {
      void queryClient.invalidateQueries({ queryKey: ["work"] });
      if (to === "cancelled") notify.undoable(`Cancelled: ${task.title}`, () => send.mutate({ task, to: "pending" }));
    },
    onError: (error) => notify.bad(`Not moved: ${error.message}`),
  });
  // Work that is under way is not thrown away by a slip of the hand.
  const move = (task: Task, to: To) =>
    to === "cancelled" && ACTIVE_TASK_STATES.has(task.status) ? setAsked(task) : send.mutate({ task, to });
  return { asked, setAsked, send, move };
}

interface MoveProps {
  readonly task: Task;
  readonly isMoving: boolean;
  readonly onMove: (to: To) => void;
}

function Move({ task, isMoving, onMove }: MoveProps) {
  const to = pickMove(task);
  if (to === undefined) return null;
  return (
    <select
      aria-label={`Move ${task.title}`}
      value=""
      disabled={isMoving}
      onChange={(event) => event.target.value === to && onMove(to)}
      className="relative z-10 h-7 w-20 rounded-md border border-line-strong bg-raised px-1 text-xs text-ink-2 opacity-0 group-hover:opacity-100 focus-visible:opacity-100 max-md:h-9 max-md:opacity-100"
    >
      <option value="">Move…</option>
      <option value={to}>{to === "pending" ? "to pending (retry)" : "to failed (cancel)"}</option>
    </select>
  );
}
