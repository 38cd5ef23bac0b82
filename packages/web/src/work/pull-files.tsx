/** What a pull request changes: its files, and the diff of the one that is chosen. */
import type { PullRequestDetail } from "@drover/contract";
import { parseDiff, splitPatch } from "@drover/contract/views";
import { useMemo, useState } from "react";
import { VList } from "virtua";
import { usePatchColours } from "../feed/code.tsx";
import { DiffRow } from "../feed/diff-table.tsx";
import { cx } from "../ui/class-names.ts";
import { Panel } from "./page-frame.tsx";

const MARKS = { created: "A", modified: "M", deleted: "D", renamed: "R" } as const;

export function PullFiles({ pull }: { readonly pull: PullRequestDetail }) {
  const patches = useMemo(() => new Map(splitPatch(pull.diff).map((file) => [file.path, file.patch])), [pull.diff]);
  const [chosen, setChosen] = useState<string>();
  const file = pull.files.find((one) => one.path === chosen) ?? pull.files[0];
  const patch = file === undefined ? undefined : patches.get(file.path);
  const lines = useMemo(() => parseDiff(patch ?? "").filter((line) => line.kind !== "file"), [patch]);
  const colours = usePatchColours(file?.path ?? "", lines);
  if (file === undefined) return null;
  return (
    <Panel title={`Changes ${pull.files.length}`}>
      <div className="flex h-[34rem] max-md:h-auto max-md:flex-col">
        <ul
          aria-label="Changed files"
          tabIndex={0}
          className="w-72 shrink-0 overflow-y-auto border-r border-line py-1 max-md:max-h-48 max-md:w-full max-md:border-r-0 max-md:border-b"
        >
          {pull.files.map((one) => (
            <li key={one.path}>
              <button
                type="button"
                aria-current={one === file ? "true" : undefined}
                onClick={() => setChosen(one.path)}
                className={cx(
                  "flex min-h-7 w-full items-center gap-2 px-3 text-left font-mono text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
                  one === file ? "bg-live-soft" : "hover:bg-hover",
                )}
              >
                <span className="text-ink-3" title={one.change_type}>
                  {MARKS[one.change_type]}
                </span>
                <span className="min-w-0 flex-1 truncate" dir="rtl" title={one.path}>
                  <bdi>{one.path}</bdi>
                </span>
                <span className="shrink-0 tabular-nums">
                  <span className="text-live-ink">+{one.lines_added}</span>{" "}
                  <span className="text-fail-ink">−{one.lines_removed}</span>
                </span>
              </button>
            </li>
          ))}
        </ul>
        <div className="flex min-h-0 min-w-0 flex-1 flex-col max-md:h-[60dvh] max-md:flex-none">
          {lines.length === 0 ? (
            <p className="p-4 text-xs text-ink-3">
              {file.is_binary
                ? "A binary file."
                : pull.is_diff_cut
                  ? "The diff is too long to be shown here."
                  : "No line changed."}
            </p>
          ) : (
            <VList
              key={file.path}
              tabIndex={0}
              role="table"
              aria-label={`Diff of ${file.path}`}
              className="min-h-0 flex-1 font-mono text-xs leading-[20px] max-md:h-[60dvh]!"
              data={lines}
            >
              {(line, at) => <DiffRow key={at} line={line} colours={colours} />}
            </VList>
          )}
        </div>
      </div>
      {pull.is_diff_cut && (
        <p className="border-t border-line px-4 py-1.5 text-xs text-ink-3">The diff is cut; the branch has it whole.</p>
      )}
    </Panel>
  );
}
