/** All work: tickets on a board, tasks as lines, and the graph of a project. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo } from "react";
import { useKeys } from "../app/keys.ts";
import { TopBar } from "../app/top-bar-slot.tsx";
import { projectsQuery } from "../data/queries.ts";
import { parseWorkSearch, type WorkSearch, type WorkView } from "../search-params.ts";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { Tooltip } from "../ui/tooltip.tsx";
import { Board } from "./board.tsx";
import { NewTicket } from "./new-ticket.tsx";
import { projectGraphQuery, tasksQuery, ticketsQuery } from "./queries.ts";
import { TaskList } from "./task-list.tsx";
import { useMay } from "../data/use-may.ts";

const Dag = lazy(() => import("./dag.tsx").then((module) => ({ default: module.Dag })));
const TaskBoard = lazy(() => import("./task-board.tsx").then((module) => ({ default: module.TaskBoard })));

const ON_BOARD = [
  { value: "tickets", label: "Tickets" },
  { value: "tasks", label: "Tasks" },
] as const;
const VIEWS: readonly { readonly value: WorkView; readonly label: string }[] = [
  { value: "board", label: "Board" },
  { value: "graph", label: "Graph" },
  { value: "list", label: "List" },
];

export function WorkPage() {
  const search = parseWorkSearch(useSearch({ from: "/inside/tasks" }));
  const navigate = useNavigate({ from: "/tasks" });
  const mayOperate = useMay("operate");
  const projects = useQuery(projectsQuery);
  const { project, view = "board" } = search;
  const tickets = useQuery(ticketsQuery(project));
  const tasks = useQuery(tasksQuery({ projectId: project }));
  useEffect(() => {
    document.title = "Tasks · Drover";
  }, []);
  useKeys({ newTicket: () => mayOperate && ask() });
  const change = (part: { [K in keyof WorkSearch]?: WorkSearch[K] | undefined }) =>
    void navigate({ search: (old) => parseWorkSearch({ ...old, ...part }), replace: true });
  const ask = () => change({ new: true });
  const hasTasks = view === "board" && search.of === "tasks";
  const isEmpty = tickets.data?.items.length === 0;
  const shownProject = project ?? projects.data?.items.find((one) => one.is_default)?.id;

  return (
    <div className="flex h-full flex-col">
      <TopBar>
        <h1 className="text-base font-semibold tracking-tight">Tasks</h1>
        <select
          aria-label="Project"
          value={project ?? ""}
          onChange={(event) => change({ project: event.target.value === "" ? undefined : event.target.value })}
          className="h-8 max-w-40 min-w-0 rounded-lg border border-line-strong bg-surface px-2 text-xs text-ink-2"
        >
          <option value="">All projects</option>
          {projects.data?.items.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
        <span className="flex-1" />
        {mayOperate && (
          <Tooltip label="New ticket" action="newTicket">
            <Button look="solid" onClick={ask}>
              <Plus size={16} aria-hidden />
              <span className="max-sm:sr-only">New ticket</span>
            </Button>
          </Tooltip>
        )}
      </TopBar>
      <div className="flex flex-wrap gap-3 px-4 py-3 md:px-6">
        <Choice
          label="View"
          value={view}
          options={VIEWS}
          onChange={(next) => change({ view: next === "board" ? undefined : next, node: undefined })}
        />
        {view === "board" && (
          <Choice
            label="On the board"
            value={search.of ?? "tickets"}
            options={ON_BOARD}
            onChange={(next) => change({ of: next === "tasks" ? next : undefined })}
          />
        )}
      </div>
      {tickets.isError && (
        <Problem error={tickets.error} what="The tickets could not be read" onRetry={() => void tickets.refetch()} />
      )}
      {tasks.isError && hasTasks && (
        <Problem error={tasks.error} what="The tasks could not be read" onRetry={() => void tasks.refetch()} />
      )}
      {tasks.isPending && hasTasks && !tickets.isPending && (
        <div className="skeleton mx-6 h-72" role="status" aria-label="Loading tasks" />
      )}
      {tickets.isPending && <div className="skeleton mx-6 h-72" role="status" aria-label="Loading tickets" />}
      {isEmpty && view === "board" && <NoTicket mayOperate={mayOperate} onCreate={ask} />}
      {tickets.data !== undefined && !isEmpty && view === "board" && !hasTasks && (
        <Board tickets={tickets.data.items} tasks={tasks.data?.items ?? []} mayMove={mayOperate} />
      )}
      {tasks.data !== undefined && !isEmpty && hasTasks && (
        <Suspense fallback={<div className="skeleton mx-6 h-72" />}>
          <TaskBoard tasks={tasks.data.items} mayMove={mayOperate} />
        </Suspense>
      )}
      {view === "list" && (
        <div
          className="min-h-0 flex-1 overflow-y-auto px-4 pb-6 md:px-6"
          tabIndex={0}
          role="region"
          aria-label="All tasks"
        >
          {tasks.isError && (
            <Problem error={tasks.error} what="The tasks could not be read" onRetry={() => void tasks.refetch()} />
          )}
          {tasks.data !== undefined && (
            <div className="overflow-hidden rounded-2xl border border-line bg-surface">
              <TaskList tasks={tasks.data.items} label="Tasks" />
            </div>
          )}
        </div>
      )}
      {view === "graph" && shownProject !== undefined && <ProjectGraph projectId={shownProject} />}
      <NewTicket
        isOpen={search.new === true && mayOperate}
        projectId={project}
        onClose={() => change({ new: undefined })}
      />
    </div>
  );
}

function ProjectGraph({ projectId }: { readonly projectId: string }) {
  const graph = useQuery(projectGraphQuery(projectId));
  const shown = useMemo(
    () =>
      graph.data === undefined
        ? undefined
        : { ...graph.data, nodes: graph.data.nodes.filter((node) => node.type === "task") },
    [graph.data],
  );
  if (graph.isError)
    return <Problem error={graph.error} what="The graph could not be read" onRetry={() => void graph.refetch()} />;
  if (shown === undefined) return <div className="skeleton mx-6 h-72" />;
  if (shown.nodes.length === 0) return <p className="p-10 text-center text-sm text-ink-3">There is no task yet.</p>;
  return (
    <Suspense fallback={<div className="skeleton mx-6 h-72" />}>
      <Dag graph={shown} />
    </Suspense>
  );
}

function NoTicket({ mayOperate, onCreate }: { readonly mayOperate: boolean; readonly onCreate: () => void }) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-4 py-[12vh] text-center">
      <h2 className="text-2xl font-semibold tracking-tight">No ticket yet</h2>
      <p className="text-sm text-ink-2 text-pretty">
        A ticket says what you want. Its tasks do it: in parallel where they may, on a branch, up to a pull request.
      </p>
      {mayOperate && (
        <Button look="solid" onClick={onCreate}>
          <Plus size={16} /> Write the first one
        </Button>
      )}
    </div>
  );
}
