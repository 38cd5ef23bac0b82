/** What had changed by a moment, as the run's events tell it: a file that carries a run has no workspace beside it. */
import { parseDiff, type ChangedFile, type FeedRow, type FileEdit } from "@drover/contract/views";
import { useMemo, useState } from "react";
import { formatCount, plural } from "../data/format.ts";
import { DiffTable } from "../feed/diff-table.tsx";
import { cx } from "../ui/class-names.ts";

const LINES_SHOWN = 1_000;

interface Change {
  readonly seq: number;
  readonly turn: number | null;
  readonly edit: FileEdit;
}

const listChanges = (rows: readonly FeedRow[], path: string): readonly Change[] =>
  rows.flatMap((row) =>
    row.kind === "edit"
      ? row.edits.filter((edit) => edit.path === path).map((edit) => ({ seq: row.seq, turn: row.turn, edit }))
      : [],
  );

interface MomentChangesProps {
  readonly rows: readonly FeedRow[];
  readonly files: ReadonlyMap<string, ChangedFile>;
}

export function MomentChanges({ rows, files }: MomentChangesProps) {
  const [chosen, setChosen] = useState<string>();
  const open = (chosen === undefined ? undefined : files.get(chosen)) ?? [...files.values()][0];
  if (open === undefined)
    return (
      <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">
        No file had changed at this moment.
      </div>
    );
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col">
      <ul
        aria-label="Changed files"
        tabIndex={0}
        className="min-h-0 shrink-0 overflow-y-auto border-line py-1 max-md:h-44 max-md:border-b md:w-60 md:border-r"
      >
        {[...files.values()].map((file) => (
          <li key={file.path}>
            <button
              type="button"
              aria-current={file.path === open.path ? "true" : undefined}
              onClick={() => setChosen(file.path)}
              title={file.path}
              className={cx(
                "flex min-h-7 w-full items-center gap-2 px-3 text-left font-mono text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
                file.path === open.path ? "bg-live-soft" : "hover:bg-hover",
              )}
            >
              <span className="min-w-0 flex-1 truncate" dir="rtl">
                <bdi>{file.path}</bdi>
              </span>
              <span className="shrink-0 tabular-nums">
                <span className="text-live-ink">+{formatCount(file.added)}</span>{" "}
                <span className="text-fail-ink">−{formatCount(file.removed)}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
      <div className="min-h-0 min-w-0 flex-1 overflow-y-auto p-4" tabIndex={0} role="region" aria-label={open.path}>
        {listChanges(rows, open.path).map((change) => (
          <Patch key={change.edit.eventId} change={change} />
        ))}
      </div>
    </div>
  );
}

function Patch({ change: { seq, turn, edit } }: { readonly change: Change }) {
  const lines = useMemo(() => parseDiff(edit.patch, LINES_SHOWN).filter(({ kind }) => kind !== "file"), [edit.patch]);
  const isCut = !edit.isComplete || lines.length >= LINES_SHOWN;
  return (
    <section className="mb-4 overflow-hidden rounded-lg border border-line bg-surface">
      <h2 className="border-b border-line px-3 py-1.5 text-xs text-ink-3">
        {edit.change} {turn !== null && `in turn ${turn}`}, event {formatCount(seq)}
      </h2>
      {lines.length === 0 ? (
        <p className="px-3 py-2 text-xs text-ink-3">No lines to show: a binary file, or only its mode changed.</p>
      ) : (
        <DiffTable path={edit.path} lines={lines} label={`Diff of ${edit.path}, event ${seq}`} />
      )}
      {isCut && (
        <p className="border-t border-line px-3 py-1.5 text-xs text-ink-3">
          The first {plural(lines.length, "line")}: the run's archive holds all of it.
        </p>
      )}
    </section>
  );
}
