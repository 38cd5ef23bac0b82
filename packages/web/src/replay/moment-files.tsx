/** Files as they were: the tree of a moment, and one file of it whole or against what the run began with. */
import type { Moment, MomentFile } from "@drover/contract";
import { blameLines, parseDiff, type FeedView, type FileStep } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { VList } from "virtua";
import { formatBytes, formatCount, plural } from "../data/format.ts";
import { CodeBlock, usePatchColours } from "../feed/code.tsx";
import { DiffRow } from "../feed/diff-table.tsx";
import { cx } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Choice } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { useWholeSteps } from "../inside/whole-steps.ts";
import { FileTree } from "./file-tree.tsx";
import { diffAtQuery, fileAtQuery } from "./queries.ts";

const LOOKS = [
  { value: "diff", label: "Diff" },
  { value: "file", label: "File" },
] as const;
export type FileLook = (typeof LOOKS)[number]["value"];

/** So many lines are drawn in one piece; a longer file is drawn as it scrolls. */
const WHOLE_LINES = 3_000;
/** More would be drawn anew at every step of the scrubber. */
const COLOURED_LINES = 1_000;

interface MomentFilesProps {
  readonly sandboxId: string;
  /** Up to this moment. */
  readonly rows: FeedView["rows"];
  /** Undefined while it is read. */
  readonly moment: Moment | undefined;
  /** Of the checkpoint that holds the files. */
  readonly seq: number | undefined;
  readonly file: string | undefined;
  readonly look: FileLook;
  readonly onOpen: (path: string) => void;
  readonly onLook: (look: FileLook) => void;
}

const Empty = ({ text }: { readonly text: string }) => (
  <div className="grid min-h-0 flex-1 place-items-center p-6 text-center text-sm text-ink-3">{text}</div>
);

export function MomentFiles({ sandboxId, rows, moment, seq, file, look, onOpen, onLook }: MomentFilesProps) {
  if (seq === undefined || moment?.files === null) return <Empty text="No files were kept up to this moment." />;
  if (moment === undefined) return <div className="skeleton m-4 h-60" />;
  const { files } = moment;
  if (files.length === 0) return <Empty text="The workspace was empty at this moment." />;
  const open = files.find((one) => one.path === file) ?? files.find((one) => one.change !== "same") ?? files[0];
  const changed = files.filter((one) => one.change !== "same").length;
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col">
      <section
        aria-label="Files of this moment"
        className="flex min-h-0 shrink-0 flex-col border-line max-md:h-44 max-md:border-b md:w-60 md:border-r"
      >
        <p className="border-b border-line px-3 py-2 text-2xs text-ink-3 tabular-nums">
          {plural(files.length, "file")}
          {moment.files_cut && " and more"} · {formatCount(changed)} changed
        </p>
        <FileTree files={files} open={open?.path} onOpen={onOpen} />
      </section>
      {open !== undefined && (
        <FileView key={open.path} sandboxId={sandboxId} rows={rows} file={open} seq={seq} look={look} onLook={onLook} />
      )}
    </div>
  );
}

interface FileViewProps {
  readonly sandboxId: string;
  readonly rows: FeedView["rows"];
  readonly file: MomentFile;
  readonly seq: number;
  readonly look: FileLook;
  readonly onLook: (look: FileLook) => void;
}

function FileView({ sandboxId, rows, file, seq, look, onLook }: FileViewProps) {
  // A file that did not change has no diff, and one that is gone has nothing but one.
  const shown = file.change === "same" ? "file" : file.change === "deleted" ? "diff" : look;
  return (
    <section
      aria-label="File"
      className="flex min-h-0 min-w-0 flex-1 flex-col"
      data-testid="file-view"
      data-path={file.path}
      data-seq={seq}
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-1.5">
        <h2 className="min-w-0 flex-1 truncate font-mono text-xs font-medium" title={file.path}>
          {file.path}
        </h2>
        <p className="text-2xs text-ink-3 tabular-nums">{formatBytes(file.size)}</p>
        {file.change !== "same" && file.change !== "deleted" && (
          <Choice label="Show" value={look} options={LOOKS} onChange={onLook} />
        )}
      </div>
      {shown === "file" ? (
        <FileText sandboxId={sandboxId} rows={rows} file={file} seq={seq} />
      ) : (
        <FileChange sandboxId={sandboxId} file={file} seq={seq} />
      )}
    </section>
  );
}

/** Beside the first of the lines that one change wrote: its turn. */
function toTurnMarks(lines: readonly string[], steps: readonly FileStep[]): readonly string[] {
  const writers = blameLines(
    lines,
    steps.map(({ edit }) => edit),
  );
  return writers.map((writer, at) =>
    writer === undefined || writer === writers[at - 1] ? "" : `T${steps[writer]?.row.turn ?? "?"}`,
  );
}

type PartProps = Pick<FileViewProps, "sandboxId" | "file" | "seq">;

function FileText({ sandboxId, rows, file, seq }: PartProps & Pick<FileViewProps, "rows">) {
  const read = useQuery(fileAtQuery(sandboxId, file.path, seq));
  const text = read.data?.text;
  const lines = useMemo(() => (typeof text === "string" ? text.split("\n") : []), [text]);
  const numbers = useMemo(
    () => Array.from({ length: text?.endsWith("\n") === true ? lines.length - 1 : lines.length }, (_, n) => n + 1),
    [lines, text],
  );
  const steps = useWholeSteps(sandboxId, rows, file.path);
  const turns = useMemo(() => toTurnMarks(lines, steps), [lines, steps]);
  if (read.isError)
    return (
      <div className="p-4">
        <Problem error={read.error} what="This file could not be read" onRetry={() => void read.refetch()} />
      </div>
    );
  if (read.data === undefined) return <div className="skeleton m-4 h-60" />;
  if (text === null || text === undefined) return <Empty text="These bytes are no text." />;
  if (text === "") return <Empty text="The file was empty." />;
  const region = { tabIndex: 0, role: "region", "aria-label": `Content of ${file.path}` } as const;
  return (
    <>
      {lines.length > WHOLE_LINES ? (
        <VList {...region} className="min-h-0 flex-1 py-2 font-mono text-xs leading-[20px]" data={lines}>
          {(line, at) => (
            <div key={at} className="grid grid-cols-[3.5rem_1fr]">
              <span className="pr-3 text-right text-ink-3 tabular-nums select-none">{at + 1}</span>
              <span className="pr-4 whitespace-pre">{line}</span>
            </div>
          )}
        </VList>
      ) : (
        <div
          {...region}
          className={cx(
            "grid min-h-0 flex-1 grid-cols-[auto_auto_1fr] overflow-auto py-2 font-mono text-xs leading-[20px]",
            read.isPlaceholderData && "opacity-60",
          )}
        >
          <pre data-testid="file-turns" className="pl-2 text-2xs leading-[20px] text-live-ink tabular-nums select-none">
            {turns.join("\n")}
          </pre>
          <pre aria-hidden className="px-3 text-right text-ink-3 tabular-nums select-none">
            {numbers.join("\n")}
          </pre>
          <pre data-testid="file-text" data-ready={!read.isPlaceholderData} className="pr-4">
            {lines.length > COLOURED_LINES ? text : <CodeBlock text={text} path={file.path} />}
          </pre>
        </div>
      )}
      <p className="flex items-center gap-3 border-t border-line px-3 py-1 text-2xs text-ink-3 tabular-nums">
        <span className="flex-1">
          {plural(numbers.length, "line")}
          {read.data.isCut && " · the first megabyte is shown"}
        </span>
        <CopyButton text={text} name={file.path} />
      </p>
    </>
  );
}

function FileChange({ sandboxId, file, seq }: PartProps) {
  const read = useQuery(diffAtQuery(sandboxId, file.path, seq));
  const patch = read.data?.patch;
  const lines = useMemo(
    () => (patch === undefined ? [] : parseDiff(patch).filter(({ kind }) => kind !== "file")),
    [patch],
  );
  const colours = usePatchColours(file.path, lines);
  if (read.isError)
    return (
      <div className="p-4">
        <Problem error={read.error} what="The change could not be read" onRetry={() => void read.refetch()} />
      </div>
    );
  if (patch === undefined) return <div className="skeleton m-4 h-60" />;
  if (lines.length === 0) return <Empty text="There is no text to compare." />;
  return (
    <VList
      tabIndex={0}
      role="table"
      aria-label={`Change of ${file.path} since the run began`}
      className="min-h-0 flex-1 font-mono text-xs leading-[20px]"
      data={lines}
    >
      {(line, at) => <DiffRow key={at} line={line} colours={colours} />}
    </VList>
  );
}
