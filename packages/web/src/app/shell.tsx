/** What every page stands in: rail, top bar, skip link, keys, toasts. Below 768 px the rail is a bar at the bottom. */
import { Link, Outlet, useMatchRoute, useNavigate } from "@tanstack/react-router";
import { Bot, Boxes, CircleHelp, Coins, LayoutGrid, MoonStar, Settings2, SquareKanban, Sun } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { startFleet } from "../data/fleet.ts";
import { isDark, toggleTheme, usePreferences } from "../data/preferences.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Mark } from "../ui/mark.tsx";
import { Tooltip } from "../ui/tooltip.tsx";
import { AwayBar } from "./away-bar.tsx";
import { ConnectionPill } from "./connection-pill.tsx";
import { useKeys } from "./keys.ts";
import { TopBarSlot } from "./top-bar-slot.tsx";

const HelpSheet = lazy(() => import("./help-sheet.tsx").then((module) => ({ default: module.HelpSheet })));
const Toasts = lazy(() => import("./toasts.tsx").then((module) => ({ default: module.Toasts })));

const PLACES = [
  { to: "/", label: "Wall", icon: LayoutGrid, action: "goWall" },
  { to: "/sandboxes", label: "Sandboxes", icon: Boxes, action: "goSandboxes" },
  { to: "/work", label: "Work", icon: SquareKanban, action: "goWork" },
  { to: "/agents", label: "Agents", icon: Bot, action: "goAgents" },
  { to: "/costs", label: "Costs", icon: Coins, action: "goCosts" },
  { to: "/settings", label: "Settings", icon: Settings2, action: "goSettings" },
] as const;

function Places({ isBar = false }: { readonly isBar?: boolean }) {
  const isAt = useMatchRoute();
  return PLACES.map(({ to, label, icon: Icon, action }) => {
    const isHere = isAt({ to, fuzzy: to !== "/" }) !== false;
    const link = (
      <Link
        key={to}
        to={to}
        aria-current={isHere ? "page" : undefined}
        className={cx(
          "relative flex items-center justify-center rounded-xl transition-colors",
          isBar ? "min-h-12 flex-1 flex-col gap-0.5 text-2xs font-medium" : "size-10",
          isHere ? "bg-live-soft text-live-ink" : "text-ink-3 hover:bg-hover hover:text-ink",
        )}
      >
        <Icon size={isBar ? 20 : 19} aria-hidden />
        <span className={isBar ? "" : "sr-only"}>{label}</span>
      </Link>
    );
    return isBar ? (
      link
    ) : (
      <Tooltip key={to} label={label} action={action} side="right">
        {link}
      </Tooltip>
    );
  });
}

export function Shell() {
  const navigate = useNavigate();
  const isAt = useMatchRoute();
  const run = isAt({ to: "/sandboxes/$sandboxId" });
  const isRun = run !== false && run.sandboxId !== "new";
  const [isHelpOpen, setHelpOpen] = useState(false);
  const theme = usePreferences((preferences) => preferences.theme);
  // A run has a stream of its own; a second one would carry the same events twice.
  useEffect(() => (isRun ? undefined : startFleet()), [isRun]);
  useKeys({
    help: () => setHelpOpen(true),
    goWall: () => void navigate({ to: "/" }),
    goSandboxes: () => void navigate({ to: "/sandboxes" }),
    goCosts: () => void navigate({ to: "/costs" }),
    goWork: () => void navigate({ to: "/work" }),
    goAgents: () => void navigate({ to: "/agents" }),
    create: () => void navigate({ to: "/sandboxes/new" }),
    goSettings: () => void navigate({ to: "/settings" }),
    theme: () => void toggleTheme(),
    close: (event) => event.target instanceof HTMLElement && event.target.blur(),
  });
  return (
    <>
      <div className="grid h-full grid-rows-[1fr_auto] md:grid-cols-[3.75rem_1fr] md:grid-rows-1">
        <a
          href="#content"
          className="fixed top-2 left-2 z-50 -translate-y-20 rounded-lg bg-solid px-3 py-2 text-sm font-medium text-on-solid focus:translate-y-0"
        >
          Skip to content
        </a>
        <nav
          aria-label="Main"
          className="hidden flex-col items-center gap-1.5 border-r border-line bg-surface py-3 md:flex"
        >
          <Link to="/" aria-label="Drover, home" className="mb-3 rounded-lg">
            <Mark size={34} />
          </Link>
          <Places />
          <span className="flex-1" />
          <Tooltip label="Keyboard" action="help" side="right">
            <Button look="ghost" size="icon" aria-label="Keyboard shortcuts" onClick={() => setHelpOpen(true)}>
              <CircleHelp size={18} />
            </Button>
          </Tooltip>
        </nav>
        <div className="flex min-h-0 min-w-0 flex-col">
          <header className="flex h-14 shrink-0 items-center gap-3 border-b border-line bg-surface px-4 md:px-6">
            <TopBarSlot />
            <ConnectionPill />
            <Tooltip label={isDark(theme) ? "Light theme" : "Dark theme"} action="theme">
              <Button look="ghost" size="icon" aria-label="Switch theme" onClick={toggleTheme}>
                {isDark(theme) ? <Sun size={17} /> : <MoonStar size={17} />}
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
          <Places isBar />
        </nav>
      </div>
      <Suspense>
        {isHelpOpen && <HelpSheet isOpen onClose={() => setHelpOpen(false)} />}
        <Toasts isDark={isDark(theme)} />
      </Suspense>
    </>
  );
}
