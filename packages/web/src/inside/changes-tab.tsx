/** What a run changed: files on the left, their patches on the right, of the whole run or of one turn. */
import {
  countLines,
  parseDiff,
  splitPatch,
  type DiffLine,
  type EditRow,
  type FeedView,
  type FileEdit,
} from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { MessageSquarePlus } from "lucide-react";
import { useCallback, useMemo } from "react";
import { VList } from "virtua";
import { formatClock, formatCount, plural } from "../data/format.ts";
import { fileDiffQuery } from "../data/queries.ts";
import { DiffRow } from "../feed/diff-table.tsx";
import { cx } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import { diffAtQuery } from "../replay/queries.ts";
import { ReviewBar } from "./review-bar.tsx";
import { addComment } from "./review.ts";

interface ChangesTabProps {
  readonly sandboxId: string;
  readonly view: FeedView;
  readonly file: string | undefined;
  readonly turn: number | undefined;
  readonly scope: "net" | undefined;
  /** The newest checkpoint: its number in the whole log, and when it was made. */
  readonly checkpoint: { readonly seq: number; readonly created_at: string } | undefined;
  /** Why no comment can be sent; undefined when one can. */
  readonly reason: string | undefined;
  readonly onOpen: (part: {
    readonly file?: string | undefined;
    readonly turn?: number | undefined;
    readonly scope?: "net" | undefined;
  }) => void;
}

interface Step {
  readonly row: Pick<EditRow, "at" | "turn">;
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

/** Only lines before the first hunk are git's own words. */
function readChange(patch: string): string {
  const [head = ""] = patch.split("\n@@ ", 1);
  if (/^new file mode/m.test(head)) return "created";
  if (/^deleted file mode/m.test(head)) return "deleted";
  return /^rename to/m.test(head) ? "renamed" : "modified";
}

/** What is left of all changes, file by file, as git tells it. */
function useNet(sandboxId: string, checkpoint: ChangesTabProps["checkpoint"], isWanted: boolean) {
  const read = useQuery({
    ...diffAtQuery(sandboxId, undefined, checkpoint?.seq ?? 0),
    enabled: isWanted && checkpoint !== undefined,
  });
  const changed = useMemo(
    () =>
      splitPatch(read.data?.patch ?? "").map((part): Changed => {
        const lines = parseDiff(part.patch);
        const edit: FileEdit = {
          eventId: `net ${part.path}`,
          path: part.path,
          oldPath: null,
          change: readChange(part.patch),
          added: lines.filter(({ kind }) => kind === "added").length,
          removed: lines.filter(({ kind }) => kind === "removed").length,
          patch: part.patch,
          isComplete: true,
        };
        return { ...edit, steps: [{ row: { at: checkpoint?.created_at ?? "", turn: null }, edit }] };
      }),
    [read.data, checkpoint],
  );
  return { read, changed };
}

export function ChangesTab({ sandboxId, view, file, turn, scope, checkpoint, reason, onOpen }: ChangesTabProps) {
  const isNet = scope === "net" && checkpoint !== undefined;
  const net = useNet(sandboxId, checkpoint, isNet);
  const steps = useMemo(
    () => view.rows.flatMap((row) => (row.kind === "edit" ? row.edits.map((edit) => ({ row, edit })) : [])),
    [view.rows],
  );
  const turns = useMemo(
    () => [...new Set(steps.map(({ row }) => row.turn ?? 0))].toSorted((one, other) => one - other),
    [steps],
  );
  const bySteps = useMemo(
    () => toChanged(turn === undefined ? steps : steps.filter(({ row }) => (row.turn ?? 0) === turn)),
    [steps, turn],
  );
  const changed = isNet ? net.changed : bySteps;
  const open = changed.find((one) => one.path === file) ?? changed[0];
  if (steps.length === 0)
    return (
      <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">
        This run has changed no file yet.
      </div>
    );
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex min-h-0 flex-1 max-md:flex-col">
        <section
          aria-label="Changed files"
          className="flex min-h-0 shrink-0 flex-col border-line max-md:max-h-56 max-md:border-b md:w-80 md:border-r"
        >
          <div className="flex items-center gap-2 border-b border-line px-3 py-2">
            <label className="flex items-center gap-2 text-xs text-ink-3">
              Show
              <select
                value={isNet ? "net" : (turn ?? "")}
                onChange={({ target: { value } }) =>
                  onOpen(
                    value === "net" ? { file, scope: "net" } : { file, turn: value === "" ? undefined : Number(value) },
                  )
                }
                className="h-7 rounded-md border border-line-strong bg-surface px-2 text-xs text-ink max-md:h-9"
              >
                <option value="">the whole run</option>
                {checkpoint !== undefined && <option value="net">what is left of it</option>}
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
                    onClick={() => onOpen({ file: one.path, turn, scope })}
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
        {isNet && net.read.isError && (
          <div className="p-4">
            <Problem
              error={net.read.error}
              what="What is left could not be read"
              onRetry={() => void net.read.refetch()}
            />
          </div>
        )}
        {isNet && net.read.isPending && <div className="skeleton m-4 h-60 flex-1" />}
        {open !== undefined && (
          <Patches key={`${open.path}/${turn ?? ""}/${scope ?? ""}`} sandboxId={sandboxId} changed={open} />
        )}
      </div>
      <ReviewBar sandboxId={sandboxId} reason={reason} head={view.lastSeq} />
    </div>
  );
}

function Patches({ sandboxId, changed }: { readonly sandboxId: string; readonly changed: Changed }) {
  const only = changed.steps.length === 1;
  const comment = useCallback(
    (line: DiffLine | undefined) =>
      addComment(sandboxId, {
        path: changed.path,
        line: line?.newLine ?? null,
        quote: line?.text ?? "",
      }),
    [sandboxId, changed.path],
  );
  return (
    <section aria-label="Patches" className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
        <h2 className="min-w-0 flex-1 truncate font-mono text-xs font-medium" title={changed.path}>
          {changed.path}
        </h2>
        <p className="text-2xs text-ink-3 tabular-nums">
          {changed.change} · {plural(changed.steps.length, "step")}
        </p>
        <Button size="small" onClick={() => comment(undefined)}>
          <MessageSquarePlus size={13} /> Comment
        </Button>
      </div>
      <div
        className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-3 md:p-4"
        tabIndex={0}
        role="region"
        aria-label="Steps"
      >
        {changed.steps.map((step) => (
          <Patch key={step.edit.eventId} sandboxId={sandboxId} step={step} isOnly={only} onComment={comment} />
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
  onComment,
}: {
  readonly sandboxId: string;
  readonly step: Step;
  readonly isOnly: boolean;
  readonly onComment: (line: DiffLine) => void;
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
          {(line, at) => <DiffRow key={at} line={line} onComment={onComment} />}
        </VList>
      ) : (
        lines.length > 0 && (
          <div role="table" aria-label={label} className="overflow-y-auto font-mono text-xs leading-[1.35rem]">
            {lines.map((line, at) => (
              <DiffRow key={at} line={line} onComment={onComment} />
            ))}
          </div>
        )
      )}
    </article>
  );
}
