/** One node of the graph beside it: what is asked for, what it waits for, every attempt, and what may be done. The graph stays where it is. */
import type { Graph, GraphNode, Task } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Route, X } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import { formatPeriod, plural } from "../data/format.ts";
import { useMay } from "../data/use-may.ts";
import { Markdown } from "../feed/markdown.tsx";
import { useEscape } from "../pages/use-escape.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";
import { Attempts } from "./attempts.tsx";
import { lookOfStatus, PriorityMark, TicketBadge } from "./badges.tsx";
import { taskQuery, ticketQuery } from "./queries.ts";
import { TaskActions } from "./task-actions.tsx";

interface NodeSheetProps {
  readonly graph: Graph;
  readonly node: GraphNode;
  readonly onShow: (id: string) => void;
  readonly onClose: () => void;
}

const WAITS: ReadonlySet<string> = new Set(["depends_on", "ticket_blocks", "spawned_from"]);

export function NodeSheet({ graph, node, onShow, onClose }: NodeSheetProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), [node.id]);
  useEscape(true, onClose);
  const byId = new Map(graph.nodes.map((one) => [one.id, one]));
  const pick = (ids: readonly string[]) => ids.flatMap((id) => byId.get(id) ?? []);
  const edges = graph.edges.filter(({ type }) => WAITS.has(type));
  const before = pick(edges.filter(({ target }) => target === node.id).map(({ source }) => source));
  const after = pick(edges.filter(({ source }) => source === node.id).map(({ target }) => target));
  return (
    <aside
      aria-label={`About ${node.label}`}
      data-testid="node-sheet"
      className="fixed inset-x-0 bottom-0 z-30 flex max-h-[78dvh] animate-enter flex-col overflow-hidden rounded-t-2xl border border-line bg-paper shadow-lift md:top-14 md:left-auto md:max-h-none md:w-[27rem] md:rounded-none md:border-y-0 md:border-r-0"
    >
      <header className="flex flex-col gap-2 border-b border-line bg-surface px-4 py-3">
        <div className="flex items-start gap-2">
          <h2
            ref={heading}
            tabIndex={-1}
            className="min-w-0 flex-1 text-base font-semibold tracking-tight break-words focus-visible:outline-offset-4"
          >
            {node.label}
          </h2>
          <Button
            look="ghost"
            size="icon"
            aria-label="Close"
            onClick={onClose}
            className="-mt-0.5 -mr-1 max-md:size-11"
          >
            <X size={16} />
          </Button>
        </div>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 text-xs text-ink-3 tabular-nums">
          <Status node={node} />
          {node.is_critical && (
            <span className="inline-flex items-center gap-1 text-wait-ink">
              <Route size={12} aria-hidden /> critical path
            </span>
          )}
          {node.duration_seconds !== null && <span>{formatPeriod(node.duration_seconds * 1_000)}</span>}
          {node.slack_seconds !== null && node.slack_seconds > 0 && (
            <span>{formatPeriod(node.slack_seconds * 1_000)} of slack</span>
          )}
        </div>
      </header>
      <div
        role="region"
        aria-label="Details"
        tabIndex={0}
        className="flex min-h-0 flex-1 flex-col gap-5 overflow-y-auto px-4 py-4 focus-visible:-outline-offset-2"
      >
        {node.type === "task" && <TaskPart id={node.id} />}
        {node.type === "ticket" && <TicketPart id={node.id} node={node} />}
        {node.type === "discovery" && node.description !== null && <Markdown text={node.description} />}
        <Neighbours title="Waits for" nodes={before} none="Nothing." onShow={onShow} />
        <Neighbours title="Others wait for it" nodes={after} none="Nobody." onShow={onShow} />
      </div>
    </aside>
  );
}

function Status({ node }: { readonly node: GraphNode }) {
  const { icon: Icon, look, isTurning, word } = lookOfStatus(node.status);
  return (
    <span
      className={cx("inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-2xs font-semibold", look)}
      data-status={node.status}
    >
      <Icon size={11} aria-hidden className={cx(isTurning && "animate-spin")} />
      {word ?? node.status.replaceAll("_", " ")}
    </span>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h3 className="mb-1.5 text-xs font-semibold text-ink-3">{title}</h3>
      {children}
    </section>
  );
}

const pageLook =
  "inline-flex h-7 items-center rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover max-md:h-11";

/** What is asked for, in its writer's words. */
const Spec = ({ text }: { readonly text: string | null }) => (
  <Part title="What is asked for">
    {text === null || text === "" ? (
      <p className="text-xs text-ink-3">No more than its title.</p>
    ) : (
      <div className="text-sm">
        <Markdown text={text} />
      </div>
    )}
  </Part>
);

function TaskPart({ id }: { readonly id: string }) {
  const task = useQuery(taskQuery(id));
  if (task.isError)
    return <Problem error={task.error} what="This task could not be read" onRetry={() => void task.refetch()} />;
  if (task.isPending) return <div className="skeleton h-40 shrink-0" role="status" aria-label="Loading the task" />;
  return <TaskRead task={task.data} />;
}

function TaskRead({ task }: { readonly task: Task }) {
  const mayOperate = useMay("operate");
  const reason = task.error_message ?? task.status_reason;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Link to="/tasks/$taskId" params={{ taskId: task.id }} className={pageLook}>
          Open the task
        </Link>
        {task.sandbox_id !== null && (
          <Link to="/sandboxes/$sandboxId" params={{ sandboxId: task.sandbox_id }} className={pageLook}>
            Its sandbox
          </Link>
        )}
        {mayOperate && <TaskActions task={task} />}
        <span className="flex-1" />
        <PriorityMark priority={task.priority} />
      </div>
      {reason !== null && (
        <p className={cx("text-sm break-words", task.status === "failed" ? "text-fail-ink" : "text-ink-2")}>{reason}</p>
      )}
      <Spec text={task.description} />
      <Part title="Attempts">
        <div className="overflow-hidden rounded-xl border border-line bg-surface">
          <Attempts task={task} />
        </div>
      </Part>
    </>
  );
}

function TicketPart({ id, node }: { readonly id: string; readonly node: GraphNode }) {
  const ticket = useQuery(ticketQuery(id));
  if (ticket.isError)
    return <Problem error={ticket.error} what="This ticket could not be read" onRetry={() => void ticket.refetch()} />;
  if (ticket.isPending) return <div className="skeleton h-40 shrink-0" role="status" aria-label="Loading the ticket" />;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Link to="/tasks/tickets/$ticketId" params={{ ticketId: ticket.data.id }} className={pageLook}>
          Open the ticket
        </Link>
        <TicketBadge status={ticket.data.status} />
        <PriorityMark priority={ticket.data.priority} />
        {node.task_count !== undefined && <span className="text-xs text-ink-3">{plural(node.task_count, "task")}</span>}
      </div>
      <Spec text={ticket.data.description} />
    </>
  );
}

interface NeighboursProps {
  readonly title: string;
  readonly nodes: readonly GraphNode[];
  readonly none: string;
  readonly onShow: (id: string) => void;
}

function Neighbours({ title, nodes, none, onShow }: NeighboursProps) {
  return (
    <Part title={title}>
      {nodes.length === 0 ? (
        <p className="text-xs text-ink-3">{none}</p>
      ) : (
        <ul className="flex flex-col gap-1">
          {nodes.map((node) => (
            <li key={node.id}>
              <button
                type="button"
                onClick={() => onShow(node.id)}
                className="flex min-h-8 w-full items-center gap-2 rounded-lg px-2 text-left text-sm hover:bg-hover max-md:min-h-11"
              >
                <Status node={node} />
                <span className="min-w-0 flex-1 truncate">{node.label}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Part>
  );
}
