/** The wall: what waits for a person, and every sandbox that works, live. */
import { TERMINAL_SANDBOX_STATES, VERBS_OF_ROLE, type Sandbox } from "@drover/contract";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { useKeys } from "../app/keys.ts";
import { TopBar } from "../app/top-bar-slot.tsx";
import { formatCount } from "../data/format.ts";
import { projectsQuery, sandboxesQuery, whoamiQuery } from "../data/queries.ts";
import { NoSandbox } from "../pages/no-sandbox.tsx";
import { CardSkeletons, SandboxCard } from "../pages/sandbox-card.tsx";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import { Tooltip } from "../ui/tooltip.tsx";
import { useNeeds } from "./needs.ts";

const NewExternal = lazy(() => import("../pages/new-external.tsx").then((module) => ({ default: module.NewExternal })));
const NeedsYou = lazy(() => import("./needs-you.tsx").then((module) => ({ default: module.NeedsYou })));

const NONE: readonly Sandbox[] = [];
const isOver = ({ state }: Sandbox) => TERMINAL_SANDBOX_STATES.has(state) || state === "completed";

export function WallPage() {
  const navigate = useNavigate();
  const [isExternal, setExternal] = useState(false);
  const list = useInfiniteQuery(sandboxesQuery({}));
  const projects = useQuery(projectsQuery);
  const whoami = useQuery(whoamiQuery);
  const mayOperate = whoami.data === undefined || VERBS_OF_ROLE[whoami.data.role].includes("operate");
  const all = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? NONE, [list.data]);
  const open = useMemo(() => all.filter((sandbox) => !isOver(sandbox)), [all]);
  const failed = all.filter(({ state }) => state === "failed").length;
  const nameOf = useMemo(
    () => new Map(projects.data?.items.map((project) => [project.id as string, project.name])),
    [projects.data],
  );
  const needs = useNeeds(open);
  useEffect(() => {
    document.title = needs.length === 0 ? "Drover" : `(${needs.length}) Drover`;
  }, [needs.length]);
  const moveBy = (step: number) => {
    const links = [...document.querySelectorAll<HTMLElement>("[data-sandbox-link]")];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
  };
  useKeys({ nextSandbox: () => moveBy(1), previousSandbox: () => moveBy(-1) });
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <TopBar>
        <h1 className="text-base font-semibold tracking-tight">Wall</h1>
        <p className="hidden items-center gap-3 text-sm text-ink-3 tabular-nums sm:flex">
          {open.length > 0 && <span>{formatCount(open.length)} open</span>}
          {failed > 0 && (
            <Link to="/sandboxes" search={{ state: "failed" }} className="text-fail-ink hover:underline">
              {formatCount(failed)} failed
            </Link>
          )}
        </p>
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
        {list.isPending && <CardSkeletons />}
        {list.isError && (
          <Problem error={list.error} what="The sandboxes could not be read" onRetry={() => void list.refetch()} />
        )}
        {needs.length > 0 && (
          <Suspense fallback={<div className="skeleton mb-6 h-20" />}>
            <NeedsYou needs={needs} mayOperate={mayOperate} />
          </Suspense>
        )}
        {list.isSuccess && all.length === 0 && <NoSandbox onCreate={() => setExternal(true)} />}
        {list.isSuccess && all.length > 0 && open.length === 0 && (
          <p className="py-16 text-center text-sm text-ink-2">
            No sandbox is open.{" "}
            <Link to="/sandboxes" className="font-medium text-live-ink underline underline-offset-2">
              Those that ended
            </Link>
          </p>
        )}
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
      </div>
      <Suspense>{isExternal && <NewExternal isOpen onClose={() => setExternal(false)} />}</Suspense>
    </div>
  );
}
