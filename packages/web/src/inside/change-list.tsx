/** Changed files, each with its mark, its size and a tick for who has been through it. */
import { formatCount } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";
import { toSign, type Changed } from "./changed.ts";
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
  const viewed = useDiffLook((look) => look.viewed);
  return (
    <ul className="min-h-0 flex-1 overflow-y-auto py-1" tabIndex={0} aria-label="Files">
      {changed.map((one) => {
        const [letter, look] = MARKS[one.change] ?? ["M", "text-wait-ink"];
        const sign = toSign(one);
        const isSeen = isViewed(viewed, sandboxId, one.path, sign);
        return (
          <li key={one.path} className={cx("flex", one === open ? "bg-live-soft" : "hover:bg-hover")}>
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
              aria-current={one === open ? "true" : undefined}
              onClick={() => onOpen(one.path)}
              className={cx(
                "flex min-h-7 min-w-0 flex-1 items-center gap-2 pr-3 text-left font-mono text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
                isSeen && "text-ink-3",
              )}
            >
              <span className={look} title={one.change}>
                {letter}
              </span>
              <span className="min-w-0 flex-1 truncate" dir="rtl" title={one.path}>
                <bdi>{one.path}</bdi>
              </span>
              <span className="shrink-0 tabular-nums">
                <span className="text-live-ink">+{formatCount(one.added)}</span>{" "}
                <span className="text-fail-ink">−{formatCount(one.removed)}</span>
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
