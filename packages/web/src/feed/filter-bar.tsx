/** Which rows are shown: by kind, and by a text in them. */
import { FEED_GROUPS, type FeedGroup } from "@drover/contract/views";
import { ChevronDown, ChevronUp, FilePen, PanelRight, TriangleAlert, X, type LucideIcon } from "lucide-react";
import { useRef } from "react";
import type { ActionName } from "../app/actions.ts";
import { useKeys } from "../app/keys.ts";
import { formatCount } from "../data/format.ts";
import { Button } from "../ui/button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { Tooltip } from "../ui/tooltip.tsx";

export type Landmark = "errors" | "edits";

interface FilterBarProps {
  readonly kinds: readonly FeedGroup[];
  readonly counts: Readonly<Record<FeedGroup, number>>;
  readonly q: string;
  readonly found: number | undefined;
  readonly onKinds: (kinds: readonly FeedGroup[]) => void;
  readonly onSearch: (q: string) => void;
  /** Of rows that are shown. */
  readonly landmarks: Readonly<Record<Landmark, number>>;
  readonly onJump: (to: Landmark, step: 1 | -1) => void;
  /** What stands beside the feed, where there is no room for it. */
  readonly onAbout: () => void;
}

export function FilterBar({ kinds, counts, q, found, onKinds, onSearch, landmarks, onJump, onAbout }: FilterBarProps) {
  const toggle = (group: FeedGroup) =>
    onKinds(kinds.includes(group) ? kinds.filter((one) => one !== group) : [...kinds, group]);
  const chips = useRef<HTMLDivElement>(null);
  useKeys({ filter: () => chips.current?.querySelector("button")?.focus() });
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-3 py-2 md:px-5">
      <div
        ref={chips}
        role="group"
        aria-label="Show only"
        className="-mx-3 flex min-w-0 flex-1 gap-1 overflow-x-auto px-3 [scrollbar-width:none] md:mx-0 md:px-0"
      >
        {FEED_GROUPS.filter((group) => counts[group] > 0 || kinds.includes(group)).map((group) => (
          <button
            key={group}
            type="button"
            aria-pressed={kinds.includes(group)}
            onClick={() => toggle(group)}
            className="inline-flex h-7 shrink-0 items-center gap-1.5 rounded-full border border-line bg-surface px-2.5 text-xs font-medium text-ink-2 hover:bg-hover aria-pressed:border-transparent aria-pressed:bg-solid aria-pressed:text-on-solid"
          >
            {group}
            <span className="text-2xs tabular-nums opacity-75">{formatCount(counts[group])}</span>
          </button>
        ))}
        {kinds.length > 0 && (
          <button
            type="button"
            onClick={() => onKinds([])}
            className="inline-flex h-7 shrink-0 items-center gap-1 rounded-full px-2 text-xs text-ink-3 hover:bg-hover hover:text-ink"
          >
            <X size={12} aria-hidden /> all
          </button>
        )}
      </div>
      {landmarks.errors > 0 && (
        <Jump
          icon={TriangleAlert}
          name="error"
          count={landmarks.errors}
          actions={["previousError", "nextError"]}
          onJump={(step) => onJump("errors", step)}
        />
      )}
      {landmarks.edits > 0 && (
        <Jump
          icon={FilePen}
          name="change"
          count={landmarks.edits}
          actions={["previousEdit", "nextEdit"]}
          onJump={(step) => onJump("edits", step)}
        />
      )}
      <SearchField
        label="Search in this run"
        placeholder="Search in this run"
        className="w-full sm:w-64"
        value={q}
        onSearch={onSearch}
        note={found === undefined ? <Kbd action="search" /> : `${formatCount(found)} rows`}
      />
      <Tooltip label="Plan, turns, files and limits" action="about">
        <Button
          size="icon"
          aria-label="About this run"
          data-about
          onClick={onAbout}
          className="max-md:order-first max-md:size-11 xl:hidden"
        >
          <PanelRight size={15} />
        </Button>
      </Tooltip>
    </div>
  );
}

interface JumpProps {
  readonly icon: LucideIcon;
  readonly name: string;
  readonly count: number;
  readonly actions: readonly [ActionName, ActionName];
  readonly onJump: (step: 1 | -1) => void;
}

function Jump({ icon: Icon, name, count, actions: [back, on], onJump }: JumpProps) {
  return (
    <div className="flex items-center rounded-lg border border-line text-ink-3 max-md:hidden">
      <Tooltip label={`Previous ${name}`} action={back}>
        <Button look="ghost" size="icon" className="size-7" aria-label={`Previous ${name}`} onClick={() => onJump(-1)}>
          <ChevronUp size={14} />
        </Button>
      </Tooltip>
      <span className="flex items-center gap-1 text-2xs tabular-nums" title={`${formatCount(count)} ${name}s`}>
        <Icon size={12} aria-hidden /> {formatCount(count)}
      </span>
      <Tooltip label={`Next ${name}`} action={on}>
        <Button look="ghost" size="icon" className="size-7" aria-label={`Next ${name}`} onClick={() => onJump(1)}>
          <ChevronDown size={14} />
        </Button>
      </Tooltip>
    </div>
  );
}
