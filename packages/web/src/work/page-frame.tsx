/** The frame of a page about one piece of work: the way back, a title with its state, actions, and what follows. */
import { Link } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { useEffect, type ReactNode } from "react";
import { TopBar } from "../app/top-bar-slot.tsx";

interface PageFrameProps {
  readonly title: string;
  readonly badges?: ReactNode;
  readonly actions?: ReactNode;
  readonly note?: ReactNode;
  readonly children: ReactNode;
}

function BackToTasks() {
  return (
    <TopBar>
      <Link
        to="/tasks"
        className="-ml-2 inline-flex h-8 items-center gap-1 rounded-lg px-2 text-sm text-ink-2 hover:bg-hover hover:text-ink"
      >
        <ChevronLeft size={16} aria-hidden /> Tasks
      </Link>
      <span className="flex-1" />
    </TopBar>
  );
}

export function PageFrame({ title, badges, actions, note, children }: PageFrameProps) {
  useEffect(() => {
    document.title = `${title} · Drover`;
  }, [title]);
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <BackToTasks />
      <div className="mx-auto flex max-w-6xl flex-col gap-6 px-4 py-5 md:px-6">
        <header className="flex flex-col gap-2">
          <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
            <h1 className="min-w-0 flex-1 basis-80 text-xl font-semibold tracking-tight text-pretty break-words">
              {title}
            </h1>
            <div className="flex flex-wrap items-center gap-2">{actions}</div>
          </div>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 text-xs text-ink-3">{badges}</div>
          {note}
        </header>
        {children}
      </div>
    </div>
  );
}

interface PanelProps {
  readonly title: string;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

export function Panel({ title, action, children }: PanelProps) {
  return (
    <section aria-label={title} className="min-w-0">
      <div className="mb-2 flex min-h-7 items-center justify-between gap-3">
        <h2 className="text-sm font-semibold tracking-tight">{title}</h2>
        {action}
      </div>
      <div className="overflow-hidden rounded-xl border border-line bg-surface">{children}</div>
    </section>
  );
}

export const Loading = () => (
  <div className="mx-auto max-w-6xl p-6">
    <BackToTasks />
    <div className="skeleton h-8 w-96 max-w-full" />
    <div className="skeleton mt-6 h-72" />
  </div>
);
