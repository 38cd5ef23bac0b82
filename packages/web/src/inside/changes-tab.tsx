/** What a run changed: files on the left, their patches on the right, of the whole run or of one turn. */
import { countLines, parseDiff, type EditRow, type FeedView, type FileEdit } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { VList } from "virtua";
import { formatClock, formatCount, plural } from "../data/format.ts";
import { fileDiffQuery } from "../data/queries.ts";
import { DiffRow } from "../feed/diff-table.tsx";
import { cx } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Problem } from "../ui/problem.tsx";

interface ChangesTabProps {
  readonly sandboxId: string;
  readonly view: FeedView;
  readonly file: string | undefined;
  readonly turn: number | undefined;
  readonly onOpen: (part: { readonly file?: string | undefined; readonly turn?: number | undefined }) => void;
}

interface Step {
  readonly row: EditRow;
  readonly edit: FileEdit;
}

interface Changed {
  readonly path: string;
  readonly change: string;
  readonly added: number;
  readonly removed: number;
  readonly steps: readonly Step[];
}

const MARKS: Readonly<Record<string, readonly [string, string]>> = {
  created: ["A", "text-live-ink"],
  deleted: ["D", "text-fail-ink"],
  renamed: ["R", "text-done-ink"],
};

function toChanged(steps: readonly Step[]): readonly Changed[] {
  return [...Map.groupBy(steps, (step) => step.edit.path)].map(([path, own]) => ({
    path,
    change: own[0]?.edit.change === "created" ? "created" : (own.at(-1)?.edit.change ?? "modified"),
    added: own.reduce((sum, { edit }) => sum + edit.added, 0),
    removed: own.reduce((sum, { edit }) => sum + edit.removed, 0),
    steps: own,
  }));
}

export function ChangesTab({ sandboxId, view, file, turn, onOpen }: ChangesTabProps) {
  const steps = useMemo(
    () => view.rows.flatMap((row) => (row.kind === "edit" ? row.edits.map((edit) => ({ row, edit })) : [])),
    [view.rows],
  );
  const turns = useMemo(
    () => [...new Set(steps.map(({ row }) => row.turn ?? 0))].toSorted((one, other) => one - other),
    [steps],
  );
  const changed = useMemo(
    () => toChanged(turn === undefined ? steps : steps.filter(({ row }) => (row.turn ?? 0) === turn)),
    [steps, turn],
  );
  const open = changed.find((one) => one.path === file) ?? changed[0];
  if (steps.length === 0)
    return (
      <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">
        This run has changed no file yet.
      </div>
    );
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col">
      <section
        aria-label="Changed files"
        className="flex min-h-0 shrink-0 flex-col border-line max-md:max-h-56 max-md:border-b md:w-80 md:border-r"
      >
        <div className="flex items-center gap-2 border-b border-line px-3 py-2">
          <label className="flex items-center gap-2 text-xs text-ink-3">
            Show
            <select
              value={turn ?? ""}
              onChange={(event) =>
                onOpen({ file, turn: event.target.value === "" ? undefined : Number(event.target.value) })
              }
              className="h-7 rounded-md border border-line-strong bg-surface px-2 text-xs text-ink max-md:h-9"
            >
              <option value="">the whole run</option>
              {turns
                .filter((one) => one > 0)
                .map((one) => (
                  <option key={one} value={one}>
                    turn {one}
                  </option>
                ))}
            </select>
          </label>
          <span className="flex-1" />
          <span className="text-2xs text-ink-3 tabular-nums">{plural(changed.length, "file")}</span>
        </div>
        <ul className="min-h-0 flex-1 overflow-y-auto py-1" tabIndex={0} aria-label="Files">
          {changed.map((one) => {
            const [letter, look] = MARKS[one.change] ?? ["M", "text-wait-ink"];
            return (
              <li key={one.path}>
                <button
                  type="button"
                  aria-current={one === open ? "true" : undefined}
                  onClick={() => onOpen({ file: one.path, turn })}
                  className={cx(
                    "flex min-h-7 w-full items-center gap-2 px-3 text-left font-mono text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
                    one === open ? "bg-live-soft" : "hover:bg-hover",
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
      </section>
      {open !== undefined && <Patches key={`${open.path}/${turn ?? ""}`} sandboxId={sandboxId} changed={open} />}
    </div>
  );
}

function Patches({ sandboxId, changed }: { readonly sandboxId: string; readonly changed: Changed }) {
  const only = changed.steps.length === 1;
  return (
    <section aria-label="Patches" className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
        <h2 className="min-w-0 flex-1 truncate font-mono text-xs font-medium" title={changed.path}>
          {changed.path}
        </h2>
        <p className="text-2xs text-ink-3 tabular-nums">
          {changed.change} · {plural(changed.steps.length, "step")}
        </p>
      </div>
      <div
        className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-3 md:p-4"
        tabIndex={0}
        role="region"
        aria-label="Steps"
      >
        {changed.steps.map((step) => (
          <Patch key={step.edit.eventId} sandboxId={sandboxId} step={step} isOnly={only} />
        ))}
      </div>
    </section>
  );
}

/** So many lines are drawn in one piece; a longer patch scrolls in a place of its own. */
const DRAWN_LINES = 400;

function Patch({
  sandboxId,
  step,
  isOnly,
}: {
  readonly sandboxId: string;
  readonly step: Step;
  readonly isOnly: boolean;
}) {
  const { edit, row } = step;
  const fetched = useQuery({ ...fileDiffQuery(sandboxId, edit.eventId), enabled: !edit.isComplete });
  const patch = edit.isComplete ? edit.patch : (fetched.data?.diff ?? edit.patch);
  const lines = useMemo(() => parseDiff(patch).filter((line) => line.kind !== "file"), [patch]);
  const label = `Patch of ${edit.path}, ${formatClock(row.at)}`;
  return (
    <article
      className={cx("overflow-hidden rounded-lg border border-line bg-surface", isOnly && "flex min-h-0 flex-col")}
    >
      <header className="flex items-center gap-3 border-b border-line px-3 py-1 text-2xs text-ink-3 tabular-nums">
        <time dateTime={row.at}>{formatClock(row.at)}</time>
        {row.turn !== null && <span>turn {row.turn}</span>}
        <span>
          <span className="text-live-ink">+{edit.added}</span> <span className="text-fail-ink">−{edit.removed}</span>
        </span>
        <span className="flex-1" />
        <CopyButton text={patch} label="Copy patch" name={`of ${formatClock(row.at)}`} />
      </header>
      {fetched.isError && (
        <div className="p-3">
          <Problem
            error={fetched.error}
            what="The whole patch could not be read"
            onRetry={() => void fetched.refetch()}
          />
        </div>
      )}
      {lines.length === 0 && !fetched.isLoading && (
        <p className="px-3 py-2 text-xs text-ink-3">
          {countLines(patch) === 0 ? "There is no text to compare." : "Only the file itself changed."}
        </p>
      )}
      {lines.length > DRAWN_LINES ? (
        <VList
          tabIndex={0}
          role="table"
          aria-label={label}
          className="h-[60dvh]! font-mono text-xs leading-[1.35rem]"
          data={lines}
        >
          {(line, at) => <DiffRow key={at} line={line} />}
        </VList>
      ) : (
        lines.length > 0 && (
          <div role="table" aria-label={label} className="overflow-y-auto font-mono text-xs leading-[1.35rem]">
            {lines.map((line, at) => (
              <DiffRow key={at} line={line} />
            ))}
          </div>
        )
      )}
    </article>
  );
}
