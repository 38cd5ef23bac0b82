/** A moment in two columns: what is looked at beside the feed, which is one of the tabs where there is no room for both. */
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "../ui/class-names.ts";

interface PanesProps<P extends string> {
  readonly panes: Readonly<Record<P, { readonly label: string; readonly icon: LucideIcon }>>;
  readonly pane: P;
  readonly onPane: (pane: P) => void;
  readonly feed: ReactNode;
  readonly children: ReactNode;
}

export function Panes<P extends string>({ panes, pane, onPane, feed, children }: PanesProps<P>) {
  const isFeed = pane === "feed";
  return (
    <>
      <nav
        aria-label="What to look at"
        className="flex shrink-0 gap-0.5 overflow-x-auto border-b border-line px-2 md:px-4"
      >
        {(Object.keys(panes) as P[]).map((name) => {
          const { label, icon: Icon } = panes[name];
          return (
            <button
              key={name}
              type="button"
              aria-current={name === pane ? "page" : undefined}
              onClick={() => onPane(name)}
              className={cx(
                "relative inline-flex h-9 shrink-0 items-center gap-1.5 px-2.5 text-xs font-medium focus-visible:-outline-offset-2 max-md:h-11",
                name === "feed" && "lg:hidden",
                name === pane
                  ? "text-ink after:absolute after:inset-x-1.5 after:bottom-0 after:h-0.5 after:rounded-full after:bg-live"
                  : "text-ink-3 hover:text-ink",
              )}
            >
              <Icon size={14} aria-hidden /> {label}
            </button>
          );
        })}
      </nav>
      <div className="flex min-h-0 flex-1">
        <div className={cx("flex min-h-0 min-w-0 flex-1 flex-col", isFeed && "max-lg:hidden")}>{children}</div>
        <div
          className={cx(
            "flex min-h-0 min-w-0 flex-col border-line lg:w-[27rem] lg:border-l xl:w-[34rem]",
            isFeed ? "flex-1 lg:flex-none" : "max-lg:hidden",
          )}
        >
          {feed}
        </div>
      </div>
    </>
  );
}
