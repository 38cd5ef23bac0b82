/** The frame of a page: its name in the tab and in the top bar, what can be done there, and a scroller that returns to its place. */
import { Link } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { useEffect, type ReactNode } from "react";
import { TopBar } from "../app/top-bar-slot.tsx";
import type { MonitorSearch } from "../search-params.ts";
import { cx } from "./class-names.ts";

/** Pages that others stand below. */
interface Back {
  readonly to: "/" | "/sandboxes" | "/tasks" | "/agents" | "/settings" | "/monitor";
  /** What was looked at there. */
  readonly search?: MonitorSearch;
  readonly label: string;
}

interface PageProps {
  readonly title: string;
  /** A page below another one: the way back stands in place of the heading. */
  readonly back?: Back;
  /** Beside the heading, in the top bar. */
  readonly beside?: ReactNode;
  readonly actions?: ReactNode;
  readonly width?: "text" | "middle" | "wide";
  /** Stands at the right of everything, and scrolls for itself. */
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}

const WIDTHS = { text: "max-w-3xl", middle: "max-w-5xl", wide: "max-w-[1500px]" } as const;

function BackLink({ to, search = {}, label }: Back) {
  return (
    <Link
      to={to}
      search={search}
      className="-ml-2 inline-flex h-8 items-center gap-1 rounded-lg px-2 text-sm text-ink-2 hover:bg-hover hover:text-ink"
    >
      <ChevronLeft size={16} aria-hidden /> {label}
    </Link>
  );
}

export function Page({ title, back, beside, actions, width = "middle", aside, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Drover`;
  }, [title]);
  return (
    <div className="flex h-full min-h-0">
      <TopBar>
        {back === undefined ? (
          <h1 className="text-base font-semibold tracking-tight">{title}</h1>
        ) : (
          <BackLink {...back} />
        )}
        {beside}
        <span className="flex-1" />
        {actions}
      </TopBar>
      <div className="min-w-0 flex-1 overflow-y-auto" tabIndex={-1} data-scroll-restoration-id="page">
        <div className={cx("mx-auto flex flex-col gap-8 px-4 py-6 md:px-6", WIDTHS[width])}>{children}</div>
      </div>
      {aside}
    </div>
  );
}
