/** Rows of changed files: the first lines of each diff at once, the rest one click away. */
import { countLines, parseDiff, toSubject, type EditRow, type FileEdit } from "@drover/contract/views";
import { FileDiff, FilePen, FileText, Maximize2 } from "lucide-react";
import { useMemo } from "react";
import { formatCount } from "../../data/format.ts";
import { Button } from "../../ui/button.tsx";
import { DiffTable } from "../diff-table.tsx";
import { Output } from "../output.tsx";
import { RowFrame, RowToggle } from "../row-frame.tsx";
import { useOpen, useRunContext } from "../run-context.tsx";
import { CallStatus } from "./tools.tsx";

const CARD_LINES = 24;
const MOST_CARDS = 8;
/** A patch of git names its file in at most so many lines. */
const HEADER_LINES = 8;

export function Edits({ row }: { readonly row: EditRow }) {
  const [isOpen, toggle] = useOpen(row.seq, true);
  const only = row.edits.length === 1 ? row.edits[0] : undefined;
  const title =
    only?.path ?? (row.edits.length > 1 ? `${row.edits.length} files` : toSubject({ input: row.call?.input ?? {} }));
  return (
    <RowFrame row={row} icon={FilePen} tone={row.call?.isError === true ? "text-fail-ink" : "text-live-ink"}>
      <div className="flex items-center gap-2">
        <div className="min-w-0 flex-1">
          <RowToggle isOpen={isOpen} onToggle={toggle}>
            <span className="shrink-0 font-medium">{row.call?.tool ?? "Changed"}</span>
            <span className="min-w-0 truncate font-mono text-xs" dir="auto">
              {title}
            </span>
            <Counts edits={row.edits} />
            {row.call !== null && <CallStatus call={row.call} />}
          </RowToggle>
        </div>
        {only !== undefined && <WaysOn edit={only} seq={row.seq} />}
      </div>
      {isOpen &&
        row.edits
          .slice(0, MOST_CARDS)
          .map((edit, at) => (
            <EditCard key={edit.eventId} edit={edit} seq={row.seq} at={at} isNamed={only === undefined} />
          ))}
      {isOpen && row.edits.length > MOST_CARDS && (
        <p className="mt-1 text-xs text-ink-3">
          and {row.edits.length - MOST_CARDS} more files, listed beside the feed
        </p>
      )}
      {row.call?.isError === true && row.call.output !== null && (
        <Output text={row.call.output} label="Why the edit failed" isOpen={false} previewLines={8} isError />
      )}
    </RowFrame>
  );
}

const WAY = "grid size-6 shrink-0 place-items-center rounded-md text-ink-3 hover:bg-hover hover:text-ink max-md:size-9";

/** The whole diff, and the file as it is now. */
function WaysOn({ edit, seq }: { readonly edit: FileEdit; readonly seq: number }) {
  const { onFullDiff, onOpenFile } = useRunContext();
  if (onOpenFile === undefined) return null;
  return (
    <>
      <button
        type="button"
        aria-label={`Whole diff of ${edit.path}`}
        title="Whole diff"
        onClick={() => onFullDiff(seq, 0)}
        className={WAY}
      >
        <FileDiff size={13} aria-hidden />
      </button>
      {edit.change !== "deleted" && (
        <button
          type="button"
          aria-label={`Open ${edit.path}`}
          title="Open the file"
          onClick={() => onOpenFile(edit.path)}
          className={WAY}
        >
          <FileText size={13} aria-hidden />
        </button>
      )}
    </>
  );
}

function Counts({ edits }: { readonly edits: readonly FileEdit[] }) {
  const added = edits.reduce((sum, edit) => sum + edit.added, 0);
  const removed = edits.reduce((sum, edit) => sum + edit.removed, 0);
  if (edits.length === 0) return null;
  return (
    <span className="shrink-0 font-mono text-xs tabular-nums">
      <span className="text-live-ink">+{formatCount(added)}</span>{" "}
      <span className="text-fail-ink">−{formatCount(removed)}</span>
    </span>
  );
}

/** File headers say what the card's own title says. */
const isBody = (line: { readonly kind: string }) => line.kind !== "file";

function EditCard({
  edit,
  seq,
  at,
  isNamed,
}: {
  readonly edit: FileEdit;
  readonly seq: number;
  readonly at: number;
  readonly isNamed: boolean;
}) {
  const { onFullDiff } = useRunContext();
  const { lines, total } = useMemo(() => {
    const parsed = parseDiff(edit.patch, CARD_LINES + HEADER_LINES);
    const body = parsed.filter(isBody);
    return { lines: body.slice(0, CARD_LINES), total: countLines(edit.patch) - (parsed.length - body.length) };
  }, [edit.patch]);
  const isCut = !edit.isComplete || total > lines.length;
  return (
    <div className="mt-1.5 max-w-[60rem] overflow-hidden rounded-lg border border-line bg-surface">
      {(isNamed || edit.change !== "modified") && (
        <p className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-1 text-xs">
          <span className="font-semibold text-ink-2">{edit.change}</span>
          <span className="min-w-0 font-mono break-all">
            {edit.oldPath !== null && `${edit.oldPath} → `}
            {edit.path}
          </span>
        </p>
      )}
      {lines.length === 0 ? (
        <p className="px-3 py-2 text-xs text-ink-3">No lines to show: a binary file, or only its mode changed.</p>
      ) : (
        <DiffTable path={edit.path} lines={lines} label={`Diff of ${edit.path}`} />
      )}
      {isCut && (
        <div className="flex items-center justify-between gap-3 border-t border-line bg-sunken px-3 py-1.5 text-xs text-ink-3">
          {edit.isComplete
            ? `showing ${lines.length} of ${formatCount(total)} lines`
            : `showing the first ${lines.length} lines`}
          <Button size="small" onClick={() => onFullDiff(seq, at)}>
            <Maximize2 size={12} /> Open full diff
          </Button>
        </div>
      )}
    </div>
  );
}
