/** Files of a workspace as a tree: folders that fold, what changed marked by a letter. */
import type { MomentFile } from "@drover/contract";
import { ChevronRight } from "lucide-react";
import { useMemo, useState } from "react";
import { VList } from "virtua";
import { cx } from "../ui/class-names.ts";

const MARKS: Readonly<Record<MomentFile["change"], readonly [string, string]>> = {
  same: ["", "text-ink-3"],
  created: ["A", "text-live-ink"],
  modified: ["M", "text-wait-ink"],
  deleted: ["D", "text-fail-ink"],
};

interface TreeLine {
  readonly path: string;
  readonly name: string;
  readonly depth: number;
  /** Undefined for a folder. */
  readonly file: MomentFile | undefined;
  /** Something below it changed. */
  readonly isChanged: boolean;
}

/** Folders that hold a change are open unless somebody folded them; the rest is folded unless somebody opened it. */
function toTreeLines(
  files: readonly MomentFile[],
  isOpen: (path: string, byDefault: boolean) => boolean,
): readonly TreeLine[] {
  const changed = new Set<string>();
  for (const { path, change } of files) {
    if (change === "same") continue;
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) changed.add(path.slice(0, at));
  }
  const isFew = files.length <= 60;
  const lines: TreeLine[] = [];
  const shown = new Set<string>();
  for (const file of files) {
    const parts = file.path.split("/");
    let isVisible = true;
    for (let depth = 0; depth < parts.length - 1 && isVisible; depth += 1) {
      const path = parts.slice(0, depth + 1).join("/");
      if (!shown.has(path)) {
        shown.add(path);
        lines.push({ path, name: parts[depth] ?? "", depth, file: undefined, isChanged: changed.has(path) });
      }
      isVisible = isOpen(path, isFew || changed.has(path));
    }
    if (isVisible)
      lines.push({
        path: file.path,
        name: parts.at(-1) ?? "",
        depth: parts.length - 1,
        file,
        isChanged: file.change !== "same",
      });
  }
  return lines;
}

interface FileTreeProps {
  readonly files: readonly MomentFile[];
  readonly open: string | undefined;
  readonly onOpen: (path: string) => void;
}

export function FileTree({ files, open, onOpen }: FileTreeProps) {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const lines = useMemo(() => toTreeLines(files, (path, byDefault) => folds.get(path) ?? byDefault), [files, folds]);
  const isUnfolded = (at: number) => (lines[at + 1]?.depth ?? -1) > (lines[at]?.depth ?? 0);
  return (
    <VList
      role="list"
      aria-label="Files"
      tabIndex={0}
      data={lines}
      className="min-h-0 flex-1 py-1 focus-visible:-outline-offset-2"
    >
      {(line, at) => {
        const [letter, look] = MARKS[line.file?.change ?? "same"];
        return (
          <div role="listitem" key={line.path}>
            <button
              type="button"
              data-path={line.path}
              aria-current={line.path === open ? "true" : undefined}
              aria-expanded={line.file === undefined ? isUnfolded(at) : undefined}
              onClick={() =>
                line.file === undefined
                  ? setFolds((old) => new Map(old).set(line.path, !isUnfolded(at)))
                  : onOpen(line.path)
              }
              style={{ paddingLeft: `${0.75 + line.depth * 0.75}rem` }}
              className={cx(
                "flex min-h-7 w-full items-center gap-1.5 pr-3 text-left font-mono text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
                line.path === open ? "bg-live-soft" : "hover:bg-hover",
              )}
            >
              {line.file === undefined ? (
                <ChevronRight
                  size={12}
                  aria-hidden
                  className={cx("shrink-0 text-ink-3 transition-transform", isUnfolded(at) && "rotate-90")}
                />
              ) : (
                <span className={cx("w-3 shrink-0 text-center", look)} title={line.file.change}>
                  {letter}
                </span>
              )}
              <span
                className={cx(
                  "min-w-0 flex-1 truncate",
                  line.file?.change === "deleted" && "line-through",
                  line.isChanged ? "text-ink" : "text-ink-2",
                )}
                title={line.path}
              >
                {line.name}
              </span>
            </button>
          </div>
        );
      }}
    </VList>
  );
}
