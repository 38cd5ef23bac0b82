/** Files of a sandbox that is no more, as its last checkpoint kept them. */
import type { FeedView } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { formatClock, plural } from "../data/format.ts";
import { FileTree } from "../replay/file-tree.tsx";
import { momentQuery } from "../replay/queries.ts";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";
import type { Checkpoint } from "./changed.ts";
import { FileText } from "./file-text.tsx";

interface KeptFilesProps {
  readonly sandboxId: string;
  readonly rows: FeedView["rows"];
  readonly checkpoint: Checkpoint;
  /** Relative to the workspace, as all names here. */
  readonly file: string | undefined;
  readonly line: number | undefined;
  readonly onOpen: (file: string | undefined, line?: number) => void;
}

export function KeptFiles({ sandboxId, rows, checkpoint, file, line, onOpen }: KeptFilesProps) {
  const moment = useQuery(momentQuery(sandboxId, checkpoint.seq));
  const files = moment.data?.files?.filter(({ change }) => change !== "deleted") ?? [];
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col">
      <section
        aria-label="Kept files"
        className={cx(
          "flex min-h-0 shrink-0 flex-col border-line md:w-80 md:border-r",
          file === undefined ? "max-md:flex-1" : "max-md:hidden",
        )}
      >
        <p className="flex min-h-10 items-center border-b border-line px-3 py-1.5 text-xs text-ink-3 text-pretty tabular-nums">
          The sandbox is gone; its files as kept at {formatClock(checkpoint.created_at)}
        </p>
        {moment.isPending && <div className="skeleton m-3 h-40" />}
        {moment.isError && (
          <div className="p-3">
            <Problem
              error={moment.error}
              what="The kept files could not be read"
              onRetry={() => void moment.refetch()}
            />
          </div>
        )}
        {moment.isSuccess && <FileTree files={files} open={file} onOpen={onOpen} />}
        {moment.isSuccess && (
          <p className="border-t border-line px-3 py-1.5 text-2xs text-ink-3 tabular-nums">
            {plural(files.length, "file")}
            {moment.data.files_cut && " and more"}
          </p>
        )}
      </section>
      {file === undefined ? (
        <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3 max-md:hidden">
          Choose a file to read it.
        </div>
      ) : (
        <FileText
          key={file}
          sandboxId={sandboxId}
          rows={rows}
          path={file}
          name={file}
          keptAt={checkpoint.seq}
          line={line}
          onLine={(next) => onOpen(file, next)}
          onClose={() => onOpen(undefined)}
        />
      )}
    </div>
  );
}
