/** What every page stands in: rail, top bar, skip link, keys, toasts. Below 768 px the rail is a bar at the bottom. */
import { Link, Outlet, useMatchRoute, useNavigate } from "@tanstack/react-router";
import { CircleHelp, MoonStar, PanelLeftClose, PanelLeftOpen, Search, Sun } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { startFleet } from "../data/fleet.ts";
import { useMay } from "../data/use-may.ts";
import { toggleTheme, useAppearance, usePreferences } from "../data/preferences.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Mark } from "../ui/mark.tsx";
import { notify } from "../ui/notify.ts";
import { Tooltip } from "../ui/tooltip.tsx";
import { Attention } from "./attention.tsx";
import { AwayBar } from "./away-bar.tsx";
import { ConnectionPill } from "./connection-pill.tsx";
import { useKeys } from "./keys.ts";
import { loadPart } from "./load-part.ts";
import { BAR_PLACES, barLook, MorePlaces } from "./more-places.tsx";
import { PLACES } from "./places.ts";
import { TopBarSlot } from "./top-bar-slot.tsx";

const SETTLED_AFTER_MS = 700;

const Palette = lazy(() => loadPart(() => import("./palette.tsx")).then((module) => ({ default: module.Palette })));
const HelpSheet = lazy(() =>
  loadPart(() => import("./help-sheet.tsx")).then((module) => ({ default: module.HelpSheet })),
);
const Toasts = lazy(() => loadPart(() => import("./toasts.tsx")).then((module) => ({ default: module.Toasts })));

function Rail({ isWide }: { readonly isWide: boolean }) {
  const isAt = useMatchRoute();
  return PLACES.map(({ to, label, icon: Icon, action }) => {
    const isHere = isAt({ to, fuzzy: to !== "/" }) !== false;
    return (
      <Tooltip key={to} label={label} action={action} side="right">
        <Link
          to={to}
          aria-current={isHere ? "page" : undefined}
          className={cx(
            "flex h-10 items-center rounded-xl text-sm font-medium transition-colors",
            isWide ? "w-full gap-3 px-2.5" : "w-10 justify-center",
            isHere ? "bg-live-soft text-live-ink" : "text-ink-3 hover:bg-hover hover:text-ink",
          )}
        >
          <Icon size={19} aria-hidden />
          <span className={isWide ? undefined : "sr-only"}>{label}</span>
        </Link>
      </Tooltip>
    );
  });
}

/** Below 768 px: four places and the rest behind a button. */
function Bar({ onFind }: { readonly onFind: () => void }) {
  const isAt = useMatchRoute();
  return (
    <>
      {BAR_PLACES.map(({ to, label, icon: Icon }) => {
        const isHere = isAt({ to, fuzzy: to !== "/" }) !== false;
        return (
          <Link key={to} to={to} aria-current={isHere ? "page" : undefined} className={barLook(isHere)}>
            <Icon size={20} aria-hidden />
            {label}
          </Link>
        );
      })}
      <MorePlaces onFind={onFind} />
    </>
  );
}

export function Shell() {
  const navigate = useNavigate();
  const isAt = useMatchRoute();
  const run = isAt({ to: "/sandboxes/$sandboxId" });
  const isRun = run !== false && run.sandboxId !== "new";
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isFinding, setFinding] = useState(false);
  const mayOperate = useMay("operate");
  const { isDark } = useAppearance();
  const isWide = usePreferences((preferences) => preferences.hasWideRail);
  // What the page itself shows comes first.
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLED_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  // A run has a stream of its own; a second one would carry the same events twice.
  useEffect(() => (isRun ? undefined : startFleet()), [isRun]);
  useKeys({
    palette: () => setFinding(true),
    help: () => setHelpOpen(true),
    goWall: () => void navigate({ to: "/" }),
    goSandboxes: () => void navigate({ to: "/sandboxes" }),
    goCosts: () => void navigate({ to: "/costs" }),
    goMonitor: () => void navigate({ to: "/monitor" }),
    goTasks: () => void navigate({ to: "/tasks" }),
    goAgents: () => void navigate({ to: "/agents" }),
    create: () => mayOperate && void navigate({ to: "/sandboxes/new" }),
    goSettings: () => void navigate({ to: "/settings" }),
    theme: () => void toggleTheme(),
    undo: notify.undoLast,
    close: (event) => event.target instanceof HTMLElement && event.target.blur(),
  });
  return (
    <>
      <div
        className={cx(
          "grid h-full grid-rows-[1fr_auto] md:grid-rows-1",
          isWide ? "md:grid-cols-[13.75rem_1fr]" : "md:grid-cols-[3.75rem_1fr]",
        )}
      >
        <a
          href="#content"
          className="fixed top-2 left-2 z-50 -translate-y-20 rounded-lg bg-solid px-3 py-2 text-sm font-medium text-on-solid focus:translate-y-0"
        >
          Skip to content
        </a>
        <nav
          aria-label="Main"
          className={cx(
            "hidden flex-col gap-1.5 border-r border-line bg-surface py-3 md:flex",
            isWide ? "items-start px-2.5" : "items-center",
          )}
        >
          <Link to="/" aria-label="Drover, home" className="mb-3 flex items-center gap-2.5 rounded-lg">
            <Mark size={34} />
            {isWide && <span className="text-base font-semibold tracking-tight">Drover</span>}
          </Link>
          <Rail isWide={isWide} />
          <span className="flex-1" />
          <div className={cx("flex gap-1.5", !isWide && "flex-col")}>
            <Tooltip label="Keyboard" action="help" side="right">
              <Button look="ghost" size="icon" aria-label="Keyboard shortcuts" onClick={() => setHelpOpen(true)}>
                <CircleHelp size={18} />
              </Button>
            </Tooltip>
            <Tooltip label={isWide ? "Hide the names" : "Show the names"} side="right">
              <Button
                look="ghost"
                size="icon"
                aria-label="Wide rail"
                aria-pressed={isWide}
                onClick={() => usePreferences.setState({ hasWideRail: !isWide })}
              >
                {isWide ? <PanelLeftClose size={18} /> : <PanelLeftOpen size={18} />}
              </Button>
            </Tooltip>
          </div>
        </nav>
        <div className="flex min-h-0 min-w-0 flex-col">
          <header className="flex h-14 shrink-0 items-center gap-3 border-b border-line bg-surface px-4 md:px-6">
            <TopBarSlot />
            <Tooltip label="Find anything" action="palette">
              <Button
                look="ghost"
                size="icon"
                aria-label="Find anything"
                className="max-md:hidden"
                onClick={() => setFinding(true)}
              >
                <Search size={17} />
              </Button>
            </Tooltip>
            <span className="size-8 shrink-0">{isSettled && <Attention isAlone={isRun} />}</span>
            <ConnectionPill />
            <Tooltip label={isDark ? "Light theme" : "Dark theme"} action="theme">
              <Button
                look="ghost"
                size="icon"
                aria-label="Switch theme"
                className="max-md:hidden"
                onClick={toggleTheme}
              >
                {isDark ? <Sun size={17} /> : <MoonStar size={17} />}
              </Button>
            </Tooltip>
          </header>
          <AwayBar />
          <main id="content" tabIndex={-1} className="min-h-0 flex-1 focus:outline-none">
            <Outlet />
          </main>
        </div>
        <nav
          aria-label="Main"
          className="flex gap-1 border-t border-line bg-surface px-2 pt-1 pb-[max(0.25rem,env(safe-area-inset-bottom))] md:hidden"
        >
          <Bar onFind={() => setFinding(true)} />
        </nav>
      </div>
      <Suspense>
        {isFinding && <Palette onClose={() => setFinding(false)} onHelp={() => setHelpOpen(true)} />}
        {isHelpOpen && <HelpSheet isOpen onClose={() => setHelpOpen(false)} />}
      </Suspense>
      <Suspense>
        <Toasts isDark={isDark} />
      </Suspense>
    </>
  );
}
