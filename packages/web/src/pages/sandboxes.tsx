/** All sandboxes: those that work as live cards, those that ended as lines. */
import { SandboxState, TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, X } from "lucide-react";
import { lazy, Suspense, useDeferredValue, useEffect, useMemo, useState } from "react";
import { useKeys } from "../app/keys.ts";
import { TopBar } from "../app/top-bar-slot.tsx";
import { formatCount, plural } from "../data/format.ts";
import { projectsQuery, sandboxesQuery } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Kbd } from "../ui/kbd.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { Problem } from "../ui/problem.tsx";
import { parseSandboxesSearch } from "../search-params.ts";
import { Tooltip } from "../ui/tooltip.tsx";
import { NoSandbox } from "./no-sandbox.tsx";
import { CardSkeletons, SandboxCard } from "./sandbox-card.tsx";
import { SandboxLine } from "./sandbox-line.tsx";

const NewExternal = lazy(() => import("./new-external.tsx").then((module) => ({ default: module.NewExternal })));

const FILTERS = [
  { label: "All", states: [] },
  { label: "Working", states: ["pending", "creating", "running", "completing"] },
  { label: "Paused", states: ["paused"] },
  { label: "Completed", states: ["completed"] },
  { label: "Failed", states: ["failed"] },
  { label: "Ended", states: ["cancelled", "terminated"] },
] as const satisfies readonly { readonly label: string; readonly states: readonly SandboxState[] }[];

const isOver = (sandbox: Sandbox) => TERMINAL_SANDBOX_STATES.has(sandbox.state) || sandbox.state === "completed";

export function SandboxesPage() {
  const { state, q } = parseSandboxesSearch(useSearch({ from: "/inside/sandboxes" }));
  const navigate = useNavigate({ from: "/sandboxes" });
  const [isCreating, setCreating] = useState(false);
  const states = useMemo(() => SandboxState.options.filter((one) => (state ?? "").split(",").includes(one)), [state]);
  const asked = useDeferredValue(q);
  const list = useInfiniteQuery(
    sandboxesQuery({ ...(states.length > 0 ? { status: states } : {}), ...(asked === undefined ? {} : { q: asked }) }),
  );
  const projects = useQuery(projectsQuery);
  const nameOf = useMemo(
    () => new Map(projects.data?.items.map((project) => [project.id as string, project.name])),
    [projects.data],
  );
  const items = useMemo(() => {
    const all = list.data?.pages.flatMap((page) => page.items) ?? [];
    // A sandbox that changed its state since the list was read leaves the filter at once.
    return states.length === 0 ? all : all.filter((sandbox) => states.includes(sandbox.state));
  }, [list.data, states]);
  const open = items.filter((sandbox) => !isOver(sandbox));
  const over = items.filter(isOver);
  const isFiltered = state !== undefined || q !== undefined;
  const change = (part: { readonly state?: string | undefined; readonly q?: string | undefined }) =>
    void navigate({ search: (old) => parseSandboxesSearch({ ...old, ...part }), replace: true });

  const moveBy = (step: number) => {
    const links = [...document.querySelectorAll<HTMLElement>("[data-sandbox-link]")];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
  };
  useKeys({
    nextSandbox: () => moveBy(1),
    previousSandbox: () => moveBy(-1),
  });
  useEffect(() => {
    document.title = "Sandboxes · Drover";
  }, []);

  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <TopBar>
        <h1 className="text-base font-semibold tracking-tight">Sandboxes</h1>
        {open.length > 0 && (
          <span className="hidden text-sm text-ink-3 sm:inline">{formatCount(open.length)} open</span>
        )}
        <span className="flex-1" />
        <Tooltip label="New sandbox" action="create">
          <Button look="solid" onClick={() => void navigate({ to: "/sandboxes/new" })}>
            <Plus size={16} aria-hidden />
            <span className="max-sm:sr-only">New</span>
            <span className="sr-only"> sandbox</span>
          </Button>
        </Tooltip>
      </TopBar>
      <div className="mx-auto max-w-[1500px] px-4 py-5 md:px-6">
        {(items.length > 0 || isFiltered) && (
          <div className="mb-5 flex flex-wrap items-center gap-2">
            <SearchField
              label="Search sandboxes"
              placeholder="Search prompt, branch, id"
              className="w-full sm:w-80"
              value={q ?? ""}
              onSearch={(text) => change({ q: text || undefined })}
              note={<Kbd action="search" />}
            />
            <div className="-mx-4 flex gap-1 overflow-x-auto px-4 sm:mx-0 sm:px-0" role="group" aria-label="State">
              {FILTERS.map((filter) => {
                const value = filter.states.length === 0 ? undefined : filter.states.join(",");
                return (
                  <button
                    key={filter.label}
                    type="button"
                    aria-pressed={state === value}
                    onClick={() => change({ state: value })}
                    className="h-8 shrink-0 rounded-full px-3 text-xs font-medium text-ink-2 hover:bg-hover aria-pressed:bg-solid aria-pressed:text-on-solid"
                  >
                    {filter.label}
                  </button>
                );
              })}
            </div>
          </div>
        )}
        {list.isPending && <CardSkeletons />}
        {list.isError && (
          <Problem error={list.error} what="The list could not be read" onRetry={() => void list.refetch()} />
        )}
        {list.isSuccess &&
          items.length === 0 &&
          (isFiltered ? (
            <NothingFound onClear={() => change({ state: undefined, q: undefined })} />
          ) : (
            <NoSandbox onCreate={() => setCreating(true)} />
          ))}
        {open.length > 0 && (
          <ul
            aria-label="Open sandboxes"
            className="grid grid-cols-1 gap-3.5 sm:grid-cols-[repeat(auto-fill,minmax(21rem,1fr))]"
          >
            {open.map((sandbox) => (
              <SandboxCard key={sandbox.id} sandbox={sandbox} project={nameOf.get(sandbox.project_id)} />
            ))}
          </ul>
        )}
        {over.length > 0 && (
          <section className={cx(open.length > 0 && "mt-8")}>
            {open.length > 0 && <h2 className="mb-2 text-xs font-semibold text-ink-3">Ended</h2>}
            <ul aria-label="Ended sandboxes" className="overflow-hidden rounded-2xl border border-line bg-surface">
              {over.map((sandbox) => (
                <SandboxLine key={sandbox.id} sandbox={sandbox} project={nameOf.get(sandbox.project_id)} />
              ))}
            </ul>
          </section>
        )}
        {list.hasNextPage && (
          <div className="mt-4 flex items-center justify-center gap-3 text-xs text-ink-3">
            Showing {plural(items.length, "sandbox").replace("sandboxs", "sandboxes")}
            <Button size="small" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
              Show more
            </Button>
          </div>
        )}
      </div>
      <Suspense>{isCreating && <NewExternal isOpen onClose={() => setCreating(false)} />}</Suspense>
    </div>
  );
}

function NothingFound({ onClear }: { readonly onClear: () => void }) {
  return (
    <div className="grid place-items-center gap-3 py-20 text-center">
      <p className="text-ink-2">No sandbox matches.</p>
      <Button onClick={onClear}>
        <X size={15} /> Clear filters
      </Button>
    </div>
  );
}
