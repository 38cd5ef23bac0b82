/** All sandboxes as lines: searched, filtered, selected, and acted on together. Those that work are on the wall as cards, too. */
import { SandboxState } from "@drover/contract";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { X } from "lucide-react";
import { lazy, Suspense, useDeferredValue, useMemo, useState } from "react";
import { BUILT_IN } from "../agents/built-in.ts";
import { packagesQuery } from "../agents/queries.ts";
import { useKeys } from "../app/keys.ts";
import { formatCount, plural } from "../data/format.ts";
import { projectsQuery, sandboxCountsQuery, sandboxesQuery } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { NewSandboxButton } from "../pages/new-sandbox-button.tsx";
import { NoSandbox } from "../pages/no-sandbox.tsx";
import { usePeek } from "../pages/use-peek.ts";
import { useSelection } from "../pages/use-selection.ts";
import { walkSandboxes } from "../pages/walk-sandboxes.ts";
import { parseSandboxesSearch, type SandboxesSearch } from "../search-params.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/empty.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { ImportArchive } from "./import-archive.tsx";
import { SandboxHeadings, SandboxLine } from "./sandbox-line.tsx";
import { SavedFilters } from "./saved-filters.tsx";
import { useHeldOrder } from "./use-held-order.ts";

const Peek = lazy(() => import("../pages/peek.tsx").then((module) => ({ default: module.Peek })));
const NewExternal = lazy(() => import("../pages/new-external.tsx").then((module) => ({ default: module.NewExternal })));

const FILTERS = [
  { label: "All", states: [] },
  { label: "Working", states: ["pending", "creating", "running", "completing"] },
  { label: "Paused", states: ["paused"] },
  { label: "Completed", states: ["completed"] },
  { label: "Failed", states: ["failed"] },
  { label: "Ended", states: ["cancelled", "terminated"] },
] as const satisfies readonly { readonly label: string; readonly states: readonly SandboxState[] }[];

const NO_FILTER = { state: undefined, q: undefined, project: undefined, agent: undefined };

const useStates = (named: string): readonly SandboxState[] =>
  useMemo(() => {
    const words = named.split(",");
    return SandboxState.options.filter((one) => words.includes(one));
  }, [named]);

export function SandboxesPage() {
  const { state, q, project, agent } = parseSandboxesSearch(useSearch({ from: "/inside/sandboxes" }));
  const navigate = useNavigate({ from: "/sandboxes" });
  const [isCreating, setCreating] = useState(false);
  const mayOperate = useMay("operate");
  const states = useStates(state ?? "");
  const asked = useDeferredValue(q);
  const rest = {
    ...(asked === undefined ? {} : { q: asked }),
    ...(project === undefined ? {} : { project }),
    ...(agent === undefined ? {} : { agent }),
  };
  const list = useInfiniteQuery(sandboxesQuery({ ...(states.length > 0 ? { status: states } : {}), ...rest }));
  const counts = useQuery(sandboxCountsQuery(rest));
  const projects = useQuery(projectsQuery);
  const nameOf = useMemo(
    () => new Map(projects.data?.items.map((one) => [one.id as string, one.name])),
    [projects.data],
  );
  const packages = useQuery(packagesQuery);
  // Who is asked for is named, whether or not it is known here.
  const agents = [...(packages.data?.items ?? []), ...BUILT_IN].map(({ name, title }) => ({
    name: name as string,
    title,
  }));
  if (agent !== undefined && !agents.some(({ name }) => name === agent)) agents.push({ name: agent, title: agent });
  const items = useMemo(() => {
    const all = list.data?.pages.flatMap((page) => page.items) ?? [];
    // A sandbox that changed its state since the list was read leaves the filter at once.
    return states.length === 0 ? all : all.filter((sandbox) => states.includes(sandbox.state));
  }, [list.data, states]);
  const { shown, waiting, release, hold } = useHeldOrder(
    items,
    `${state ?? ""} ${project ?? ""} ${agent ?? ""} ${asked ?? ""}`,
  );
  const peek = usePeek();
  const peeked = shown.find(({ id }) => id === peek.id);
  const { picked, selected, toggle, clear } = useSelection({
    listed: shown,
    mayOperate,
    isCovered: peeked !== undefined,
  });
  const total =
    states.length === 0
      ? counts.data?.total
      : counts.data && states.reduce((sum, one) => sum + (counts.data.states[one] ?? 0), 0);
  const isFiltered = state !== undefined || q !== undefined || project !== undefined || agent !== undefined;
  const change = (part: { [K in keyof SandboxesSearch]?: SandboxesSearch[K] | undefined }) =>
    void navigate({ search: (old) => parseSandboxesSearch({ ...old, ...part }), replace: true });
  useKeys({ nextSandbox: () => walkSandboxes(1), previousSandbox: () => walkSandboxes(-1) });

  return (
    <Page
      title="Sandboxes"
      width="wide"
      actions={
        mayOperate && (
          <>
            <ImportArchive />
            <NewSandboxButton />
          </>
        )
      }
      aside={
        peeked !== undefined && (
          <Suspense>
            <Peek sandbox={peeked} mayOperate={mayOperate} onClose={() => peek.open(undefined)} />
          </Suspense>
        )
      }
      beside={
        counts.data !== undefined && (
          <span className="hidden text-sm text-ink-3 tabular-nums sm:inline">{formatCount(counts.data.total)}</span>
        )
      }
    >
      <div className="flex flex-col gap-4">
        {(items.length > 0 || isFiltered) && (
          <div className="flex flex-wrap items-center gap-2">
            <SearchField
              label="Search sandboxes"
              placeholder="Search prompt, branch, agent, id"
              className="w-full sm:w-80"
              value={q ?? ""}
              onSearch={(text) => change({ q: text || undefined })}
              note={<Kbd action="search" />}
            />
            <div className="-mx-4 flex gap-1 overflow-x-auto px-4 sm:mx-0 sm:px-0" role="group" aria-label="State">
              {FILTERS.map((filter) => {
                const value = filter.states.length === 0 ? undefined : filter.states.join(",");
                const { data } = counts;
                const count =
                  data === undefined
                    ? undefined
                    : filter.states.length === 0
                      ? data.total
                      : filter.states.reduce((sum, one) => sum + (data.states[one] ?? 0), 0);
                return (
                  <button
                    key={filter.label}
                    type="button"
                    aria-pressed={state === value}
                    onClick={() => change({ state: value })}
                    className="inline-flex h-8 shrink-0 items-center gap-1.5 rounded-full px-3 text-xs font-medium text-ink-2 hover:bg-hover aria-pressed:bg-solid aria-pressed:text-on-solid"
                  >
                    {filter.label}
                    {count !== undefined && <span className="tabular-nums opacity-70">{formatCount(count)}</span>}
                  </button>
                );
              })}
            </div>
            <span className="flex-1 max-sm:hidden" />
            {(projects.data?.items.length ?? 0) > 1 && (
              <select
                aria-label="Project"
                value={project ?? ""}
                onChange={(event) => change({ project: event.target.value || undefined })}
                className="h-8 max-w-44 rounded-full border border-line-strong bg-surface px-2.5 text-xs text-ink-2 max-md:h-9"
              >
                <option value="">All projects</option>
                {projects.data?.items.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </select>
            )}
            <select
              aria-label="Agent"
              value={agent ?? ""}
              onChange={(event) => change({ agent: event.target.value || undefined })}
              className="h-8 max-w-44 rounded-full border border-line-strong bg-surface px-2.5 text-xs text-ink-2 max-md:h-9"
            >
              <option value="">All agents</option>
              {agents.map(({ name, title }) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
            <SavedFilters
              search={{ ...(state === undefined ? {} : { state }), ...rest }}
              isFiltered={isFiltered}
              onChoose={(next) => change({ ...NO_FILTER, ...next })}
            />
          </div>
        )}
        {list.isPending && <LineSkeletons />}
        {list.isError && (
          <Problem error={list.error} what="The list could not be read" onRetry={() => void list.refetch()} />
        )}
        {list.isSuccess &&
          items.length === 0 &&
          (isFiltered ? (
            <Empty
              title="No sandbox matches."
              action={
                <Button onClick={() => change(NO_FILTER)}>
                  <X size={15} /> Clear filters
                </Button>
              }
            />
          ) : (
            <NoSandbox onCreate={() => setCreating(true)} />
          ))}
        {shown.length > 0 && (
          <div className="relative">
            {waiting > 0 && (
              <button
                type="button"
                onClick={release}
                className="absolute -top-3.5 left-1/2 z-20 inline-flex h-7 -translate-x-1/2 animate-enter items-center rounded-full bg-solid px-3.5 text-xs font-semibold text-on-solid shadow-lift"
              >
                {plural(waiting, "update")}, sort again
              </button>
            )}
            <SandboxHeadings hasBoxes={mayOperate} />
            <ul aria-label="Sandboxes" {...hold} className="overflow-hidden rounded-2xl border border-line bg-surface">
              {shown.map((sandbox) => (
                <SandboxLine
                  key={sandbox.id}
                  sandbox={sandbox}
                  project={nameOf.get(sandbox.project_id)}
                  isPicked={picked.has(sandbox.id)}
                  onPick={mayOperate ? toggle : undefined}
                  onPeek={peek.open}
                />
              ))}
            </ul>
          </div>
        )}
        {list.hasNextPage && (
          <div className="flex items-center justify-center gap-3 text-xs text-ink-3">
            Showing {formatCount(items.length)}
            {total !== undefined && ` of ${formatCount(total)}`}
            <Button size="small" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
              Show more
            </Button>
          </div>
        )}
      </div>
      {selected.length > 0 && <BulkBar selected={selected} onClear={clear} />}
      <Suspense>{isCreating && <NewExternal isOpen onClose={() => setCreating(false)} />}</Suspense>
    </Page>
  );
}

const LineSkeletons = () => (
  <div className="flex flex-col gap-px overflow-hidden rounded-2xl" role="status" aria-label="Loading sandboxes">
    {Array.from({ length: 8 }, (_, n) => (
      <div key={n} className="skeleton h-15 rounded-none!" />
    ))}
  </div>
);
