/** The complete diff of one edit, fetched when the event carried only its beginning. Drawn line by line as it scrolls. */
import { countLines, parseDiff, type FileEdit } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { VList } from "virtua";
import { formatCount, plural } from "../data/format.ts";
import { fileDiffQuery } from "../data/queries.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Problem } from "../ui/problem.tsx";
import { usePatchColours } from "./code.tsx";
import { DiffRow } from "./diff-table.tsx";

interface FullDiffProps {
  readonly sandboxId: string;
  readonly edit: FileEdit;
  readonly onClose: () => void;
}

export function FullDiff({ sandboxId, edit, onClose }: FullDiffProps) {
  const fetched = useQuery({ ...fileDiffQuery(sandboxId, edit.eventId), enabled: !edit.isComplete });
  const patch = edit.isComplete ? edit.patch : fetched.data?.diff;
  const lines = useMemo(() => (patch === undefined ? [] : parseDiff(patch)), [patch]);
  const colours = usePatchColours(edit.path, lines);
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isWide
      title={<span className="font-mono text-base break-all">{edit.path}</span>}
      description={`${edit.change}, ${formatCount(edit.added)} added, ${formatCount(edit.removed)} removed${patch === undefined ? "" : `, ${plural(countLines(patch), "line")} of patch`}`}
    >
      {fetched.isError && (
        <Problem error={fetched.error} what="The full diff could not be read" onRetry={() => void fetched.refetch()} />
      )}
      {fetched.isLoading && <div className="skeleton h-40" />}
      {patch !== undefined && (
        <div className="flex h-full flex-col gap-3">
          <div>
            <CopyButton text={patch} label="Copy patch" />
          </div>
          <VList
            tabIndex={0}
            aria-label="Full diff"
            role="table"
            className="min-h-80 flex-1 rounded-lg border border-line font-mono text-xs leading-[20px]"
            data={lines}
          >
            {(line, at) => <DiffRow key={at} line={line} colours={colours} />}
          </VList>
        </div>
      )}
    </Dialog>
  );
}
