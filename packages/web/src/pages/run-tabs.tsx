/** The views of one run, side by side: each has an address and a key. */
import { Link } from "@tanstack/react-router";
import {
  ChartGantt,
  FileDiff,
  FolderTree,
  GitBranch,
  Info,
  ListTree,
  MessageSquareText,
  SquareTerminal,
  type LucideIcon,
} from "lucide-react";
import type { ActionName } from "../app/actions.ts";
import { formatCount } from "../data/format.ts";
import { RUN_TABS, toTabSearch, type RunTab } from "../search-params.ts";
import { cx } from "../ui/class-names.ts";
import { Tooltip } from "../ui/tooltip.tsx";
import { useCurrentInView } from "../ui/use-current-in-view.ts";

const TABS: Readonly<
  Record<RunTab, { readonly label: string; readonly icon: LucideIcon; readonly action: ActionName }>
> = {
  activity: { label: "Activity", icon: ListTree, action: "tabActivity" },
  changes: { label: "Changes", icon: FileDiff, action: "tabChanges" },
  terminal: { label: "Terminal", icon: SquareTerminal, action: "tabTerminal" },
  files: { label: "Files", icon: FolderTree, action: "tabFiles" },
  messages: { label: "Messages", icon: MessageSquareText, action: "tabMessages" },
  timeline: { label: "Timeline", icon: ChartGantt, action: "tabTimeline" },
  details: { label: "Details", icon: Info, action: "tabDetails" },
  git: { label: "Git", icon: GitBranch, action: "tabGit" },
};

interface RunTabsProps {
  readonly sandboxId: string;
  readonly tab: RunTab;
  /** sandbox_seq of the selected event. */
  readonly selected: number | undefined;
  readonly changed: number;
}

export function RunTabs({ sandboxId, tab, selected, changed }: RunTabsProps) {
  const nav = useCurrentInView(tab);
  return (
    <nav
      ref={nav}
      aria-label="Views of this run"
      className="flex shrink-0 gap-0.5 overflow-x-auto border-b border-line px-2 [scrollbar-width:none] md:px-4"
    >
      {RUN_TABS.map((name) => {
        const { label, icon: Icon, action } = TABS[name];
        const isHere = name === tab;
        return (
          <Tooltip key={name} label={label} action={action}>
            <Link
              to="/sandboxes/$sandboxId"
              params={{ sandboxId }}
              search={toTabSearch(name, selected)}
              // Else the first one, which asks for nothing, would be called current beside any other.
              activeOptions={{ exact: true }}
              aria-current={isHere ? "page" : undefined}
              className={cx(
                "relative inline-flex h-9 shrink-0 items-center gap-1.5 px-2.5 text-xs font-medium focus-visible:-outline-offset-2 max-md:h-11",
                isHere
                  ? "text-ink after:absolute after:inset-x-1.5 after:bottom-0 after:h-0.5 after:rounded-full after:bg-live"
                  : "text-ink-3 hover:text-ink",
              )}
            >
              <Icon size={14} aria-hidden />
              {label}
              {name === "changes" && changed > 0 && (
                <span className="text-2xs text-ink-3 tabular-nums">{formatCount(changed)}</span>
              )}
            </Link>
          </Tooltip>
        );
      })}
    </nav>
  );
}
