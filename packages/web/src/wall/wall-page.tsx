/** The wall: what waits for a person, and every sandbox that works, live. */
import { TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Group, Rows3 } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { useKeys } from "../app/keys.ts";
import { TopBar } from "../app/top-bar-slot.tsx";
import { useConnection } from "../data/connection.ts";
import { formatClock, formatCount } from "../data/format.ts";
import { useMinute } from "../data/now.ts";
import { usePreferences } from "../data/preferences.ts";
import { projectsQuery, sandboxesQuery } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { NewSandboxButton } from "../pages/new-sandbox-button.tsx";
import { CardSkeletons, SandboxCard } from "../pages/sandbox-card.tsx";
import { usePeek } from "../pages/use-peek.ts";
import { useSelection } from "../pages/use-selection.ts";
import { walkGrid, walkSandboxes } from "../pages/walk-sandboxes.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Empty } from "../ui/empty.tsx";
import { Problem } from "../ui/problem.tsx";
import { Tooltip } from "../ui/tooltip.tsx";
import { NeedsYou } from "./needs-you.tsx";
import { useNeeds } from "./needs.ts";

const NewExternal = lazy(() => import("../pages/new-external.tsx").then((module) => ({ default: module.NewExternal })));
const NoSandbox = lazy(() => import("../pages/no-sandbox.tsx").then((module) => ({ default: module.NoSandbox })));
const Peek = lazy(() => import("../pages/peek.tsx").then((module) => ({ default: module.Peek })));
const BulkBar = lazy(() => import("../sandboxes/bulk-bar.tsx").then((module) => ({ default: module.BulkBar })));

const NONE: readonly Sandbox[] = [];
const isOver = ({ state }: Sandbox) => TERMINAL_SANDBOX_STATES.has(state) || state === "completed";

/** For so long the wall tells of what ended by itself; nobody has to be told what a person ended. */
const LATELY_MS = 15 * 60_000;
const LATELY_SHOWN = 8;
const endedLately = ({ state, ended_at: ended, last_event_at: last }: Sandbox, now: number): boolean =>
  (state === "completed" || state === "failed") && Date.parse(ended ?? last ?? "") > now - LATELY_MS;

/** Without colour and on darker ground; thinner ink could not be read. */
const STALE =
  "[&_[data-sandbox]]:border-dashed [&_[data-sandbox]]:bg-sunken [&_[data-sandbox]]:shadow-none [&_[data-sandbox]]:grayscale";

export function WallPage() {
  const [isExternal, setExternal] = useState(false);
  const list = useInfiniteQuery(sandboxesQuery({}));
  const projects = useQuery(projectsQuery);
  const mayOperate = useMay("operate");
  const all = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? NONE, [list.data]);
  const open = useMemo(() => all.filter((sandbox) => !isOver(sandbox)), [all]);
  const minute = useMinute();
  const ended = useMemo(
    () => all.filter((sandbox) => endedLately(sandbox, minute)).slice(0, LATELY_SHOWN),
    [all, minute],
  );
  const running = open.filter(({ state }) => state === "running").length;
  const failed = all.filter(({ state }) => state === "failed").length;
  const nameOf = useMemo(
    () => new Map(projects.data?.items.map((project) => [project.id as string, project.name])),
    [projects.data],
  );
  const isGrouped = usePreferences((preferences) => preferences.groupsWall);
  const isCompact = usePreferences((preferences) => preferences.density === "compact");
  const hasProjects = new Set(open.map((sandbox) => sandbox.project_id)).size > 1;
  const groups = useMemo((): readonly (readonly [string, readonly Sandbox[]])[] => {
    if (open.length === 0) return [];
    if (!isGrouped || !hasProjects) return [["", open]];
    const byName = Map.groupBy(open, (sandbox) => nameOf.get(sandbox.project_id) ?? "No project");
    return [...byName].toSorted(([one], [other]) => one.localeCompare(other));
  }, [open, isGrouped, hasProjects, nameOf]);
  const needs = useNeeds(open);
  useEffect(() => {
    document.title = needs.length === 0 ? "Drover" : `(${needs.length}) Drover`;
  }, [needs.length]);
  // The last that was known stays, and looks it.
  const heardAt = useConnection(({ state: { phase }, lastEventAt = 0 }) =>
    phase === "offline" || phase === "reconnecting" ? lastEventAt : undefined,
  );
  const isCut = heardAt !== undefined;
  const isStale = list.isError || isCut;
  const asOf = formatClock(new Date(Math.max(list.dataUpdatedAt, heardAt ?? 0)).toISOString());
  const peek = usePeek();
  const [reply, setReply] = useState<{ readonly id: string; readonly times: number }>();
  // Whoever looks into it again later only looks.
  if (reply !== undefined && reply.id !== peek.id) setReply(undefined);
  const replyTo = (id: string) => {
    peek.open(id);
    setReply((old) => ({ id, times: (old?.times ?? 0) + 1 }));
  };
  const peeked = all.find(({ id }) => id === peek.id);
  const shown = useMemo(
    () => [
      ...groups.map(([name, own]) => ({
        name,
        own,
        label: name === "" ? "Open sandboxes" : `Open sandboxes of ${name}`,
      })),
      ...(ended.length === 0 ? [] : [{ name: "Ended lately", own: ended, label: "Sandboxes that ended lately" }]),
    ],
    [groups, ended],
  );
  const listed = useMemo(() => shown.flatMap(({ own }) => own), [shown]);
  const { picked, selected, toggle, clear } = useSelection({ listed, mayOperate, isCovered: peeked !== undefined });
  useKeys({
    nextSandbox: () => walkSandboxes(1),
    previousSandbox: () => walkSandboxes(-1),
    message: ({ target }) => {
      const id =
        target instanceof Element ? target.closest<HTMLElement>("[data-sandbox]")?.dataset["sandbox"] : undefined;
      if (mayOperate && id !== undefined) replyTo(id);
    },
  });
  return (
    <div className="flex h-full min-h-0">
      <TopBar>
        <h1 className="text-base font-semibold tracking-tight">Wall</h1>
        <p className="hidden items-center gap-3 text-sm text-ink-3 tabular-nums sm:flex">
          {running > 0 && (
            <Link to="/sandboxes" search={{ state: "running" }} className="hover:underline">
              {formatCount(running)} running
            </Link>
          )}
          {open.length > running && <span>{formatCount(open.length - running)} on the way or paused</span>}
          {needs.length > 0 && <span className="text-wait-ink">{formatCount(needs.length)} waiting for you</span>}
          {failed > 0 && (
            <Link to="/sandboxes" search={{ state: "failed" }} className="text-fail-ink hover:underline">
              {formatCount(failed)} failed
            </Link>
          )}
        </p>
        <span className="flex-1" />
        {hasProjects && (
          <Tooltip label="Group by project">
            <Button
              look="ghost"
              size="icon"
              aria-label="Group by project"
              aria-pressed={isGrouped}
              className="aria-pressed:bg-live-soft aria-pressed:text-live-ink max-md:hidden"
              onClick={() => usePreferences.setState({ groupsWall: !isGrouped })}
            >
              <Group size={16} />
            </Button>
          </Tooltip>
        )}
        <Tooltip label="Closer together">
          <Button
            look="ghost"
            size="icon"
            aria-label="Compact tiles"
            aria-pressed={isCompact}
            className="aria-pressed:bg-live-soft aria-pressed:text-live-ink max-md:hidden"
            onClick={() => usePreferences.setState({ density: isCompact ? "comfortable" : "compact" })}
          >
            <Rows3 size={16} />
          </Button>
        </Tooltip>
        {mayOperate && <NewSandboxButton />}
      </TopBar>
      <div className="min-w-0 flex-1 overflow-y-auto" tabIndex={-1}>
        <div className={cx("mx-auto max-w-[3200px] px-4 py-5 md:px-6", isStale && STALE)}>
          {list.isPending && <CardSkeletons />}
          {list.isError && (
            <Problem
              error={list.error}
              what={
                list.data === undefined
                  ? "The sandboxes could not be read"
                  : `The sandboxes as of ${asOf}; they could not be read again`
              }
              onRetry={() => void list.refetch()}
            />
          )}
          {isCut && list.data !== undefined && !list.isError && (
            <p role="status" data-testid="as-of" className="mb-4 text-xs text-wait-ink">
              As of {asOf}: the server is not reached. What is shown is what was known then.
            </p>
          )}
          {needs.length > 0 && (
            <div className="mb-6">
              <NeedsYou needs={needs} mayOperate={mayOperate} onReply={replyTo} />
            </div>
          )}
          {list.isSuccess && all.length === 0 && (
            <Suspense fallback={<div className="skeleton h-72" />}>
              <NoSandbox onCreate={() => setExternal(true)} />
            </Suspense>
          )}
          {list.isSuccess && all.length > 0 && open.length === 0 && (
            <Empty
              title="No sandbox is at work."
              action={
                <span className="mt-2 flex items-center gap-4">
                  {mayOperate && <NewSandboxButton />}
                  <Link to="/sandboxes" className="text-sm font-medium text-live-ink underline underline-offset-2">
                    Those that ended
                  </Link>
                </span>
              }
            >
              Each one that works has a live tile here; what they ask of you stands above them.
            </Empty>
          )}
          {shown.map(({ name, own, label }) => (
            <section key={name} aria-label={name === "" ? undefined : name} className="mb-6">
              {name !== "" && <h2 className="mb-2 text-sm font-semibold tracking-tight">{name}</h2>}
              <ul
                aria-label={label}
                onKeyDown={(event) => walkGrid(event.key) && event.preventDefault()}
                className="grid grid-cols-1 gap-(--tile-gap) sm:grid-cols-[repeat(auto-fill,minmax(var(--tile-wide),1fr))]"
              >
                {own.map((sandbox) => (
                  <SandboxCard
                    key={sandbox.id}
                    sandbox={sandbox}
                    project={nameOf.get(sandbox.project_id)}
                    isPicked={picked.has(sandbox.id)}
                    onPick={mayOperate ? toggle : undefined}
                    onPeek={peek.open}
                  />
                ))}
              </ul>
            </section>
          ))}
          <Suspense>{selected.length > 0 && <BulkBar selected={selected} onClear={clear} />}</Suspense>
        </div>
      </div>
      <Suspense>
        {peeked !== undefined && (
          <Peek
            sandbox={peeked}
            mayOperate={mayOperate}
            replies={reply?.id === peeked.id ? reply.times : 0}
            onClose={() => peek.open(undefined)}
          />
        )}
      </Suspense>
      <Suspense>{isExternal && <NewExternal isOpen onClose={() => setExternal(false)} />}</Suspense>
    </div>
  );
}
