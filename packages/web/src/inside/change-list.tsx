/** Changed files folder by folder, each with its mark, its size and a tick for who has been through it. */
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { formatCount } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";
import { folderOf, toSign, type Changed } from "./changed.ts";
import { isViewed, setViewed, useDiffLook } from "./diff-look.ts";

const MARKS: Readonly<Record<string, readonly [string, string]>> = {
  created: ["A", "text-live-ink"],
  deleted: ["D", "text-fail-ink"],
  renamed: ["R", "text-done-ink"],
};

interface ChangeListProps {
  readonly sandboxId: string;
  readonly changed: readonly Changed[];
  readonly open: Changed | undefined;
  readonly onOpen: (path: string) => void;
}

export function ChangeList({ sandboxId, changed, open, onOpen }: ChangeListProps) {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const fold = (folder: string) =>
    setFolded((old) => {
      const next = new Set(old);
      if (!next.delete(folder)) next.add(folder);
      return next;
    });
  const line = (one: Changed) => (
    <ChangeLine key={one.path} sandboxId={sandboxId} one={one} isOpen={one === open} onOpen={onOpen} />
  );
  return (
    <ul className="min-h-0 flex-1 overflow-y-auto py-1" tabIndex={0} aria-label="Files">
      {[...Map.groupBy(changed, ({ path }) => folderOf(path))].map(([folder, own]) =>
        folder === "" ? (
          own.map(line)
        ) : (
          <li key={`${folder}/`}>
            <button
              type="button"
              aria-expanded={!folded.has(folder)}
              onClick={() => fold(folder)}
              title={folder}
              className="flex min-h-7 w-full items-center gap-1.5 px-3 text-left font-mono text-2xs text-ink-3 hover:bg-hover focus-visible:-outline-offset-2 max-md:min-h-11"
            >
              <ChevronRight
                size={12}
                aria-hidden
                className={cx("shrink-0 transition-transform", !folded.has(folder) && "rotate-90")}
              />
              <span className="min-w-0 flex-1 truncate" dir="rtl">
                <bdi>{folder}</bdi>
              </span>
              <span className="shrink-0 tabular-nums">{formatCount(own.length)}</span>
            </button>
            {!folded.has(folder) && <ul aria-label={folder}>{own.map(line)}</ul>}
          </li>
        ),
      )}
    </ul>
  );
}

interface ChangeLineProps {
  readonly sandboxId: string;
  readonly one: Changed;
  readonly isOpen: boolean;
  readonly onOpen: (path: string) => void;
}

function ChangeLine({ sandboxId, one, isOpen, onOpen }: ChangeLineProps) {
  const viewed = useDiffLook((look) => look.viewed);
  const [letter, look] = MARKS[one.change] ?? ["M", "text-wait-ink"];
  const sign = toSign(one);
  const isSeen = isViewed(viewed, sandboxId, one.path, sign);
  return (
    <li className={cx("flex", isOpen ? "bg-live-soft" : "hover:bg-hover")}>
      <label className="grid w-9 shrink-0 cursor-pointer place-items-center max-md:w-11">
        <input
          type="checkbox"
          className="size-3.5 accent-live-ink"
          aria-label={`Viewed ${one.path}`}
          checked={isSeen}
          onChange={() => setViewed(sandboxId, one.path, isSeen ? undefined : sign)}
        />
      </label>
      <button
        type="button"
        aria-current={isOpen ? "true" : undefined}
        onClick={() => onOpen(one.path)}
        className={cx(
          "flex min-h-7 min-w-0 flex-1 items-center gap-2 pr-3 text-left font-mono text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
          isSeen && "text-ink-3",
        )}
      >
        <span className={look} title={one.change}>
          {letter}
        </span>
        <span className="min-w-0 flex-1 truncate" title={one.path}>
          {one.path.slice(one.path.lastIndexOf("/") + 1)}
        </span>
        <span className="shrink-0 tabular-nums">
          <span className="text-live-ink">+{formatCount(one.added)}</span>{" "}
          <span className="text-fail-ink">−{formatCount(one.removed)}</span>
        </span>
      </button>
    </li>
  );
}
