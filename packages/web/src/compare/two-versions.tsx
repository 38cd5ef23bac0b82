/** One file as each of two runs left it, as a patch from A to B. */
import type { Moment } from "@drover/contract";
import { diffTexts, type DiffLine } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { VList } from "virtua";
import { formatCount } from "../data/format.ts";
import { usePatchColours } from "../feed/code.tsx";
import { DiffRow } from "../feed/diff-table.tsx";
import { fileAtQuery } from "../replay/queries.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Problem } from "../ui/problem.tsx";

const NONE: readonly DiffLine[] = [];

interface Version {
  readonly sandboxId: string;
  readonly end: Moment | undefined;
}

interface TwoVersionsProps {
  readonly path: string;
  readonly a: Version;
  readonly b: Version;
  readonly onClose: () => void;
}

function useVersion({ sandboxId, end }: Version, path: string) {
  const isThere = end?.files?.some((file) => file.path === path && file.change !== "deleted") ?? false;
  const read = useQuery({ ...fileAtQuery(sandboxId, path, end?.state.at_seq ?? 0), enabled: isThere });
  const isRead = end !== undefined && (!isThere || read.isSuccess);
  return { read, isThere, text: isRead ? (isThere ? read.data?.text : "") : undefined };
}

export function TwoVersions({ path, a, b, onClose }: TwoVersionsProps) {
  const left = useVersion(a, path);
  const right = useVersion(b, path);
  const isBinary = left.text === null || right.text === null;
  const lines = useMemo(
    () =>
      typeof left.text === "string" && typeof right.text === "string" ? diffTexts(left.text, right.text) : undefined,
    [left.text, right.text],
  );
  const colours = usePatchColours(path, lines ?? NONE);
  const count = (kind: "added" | "removed") => formatCount(lines?.filter((line) => line.kind === kind).length ?? 0);
  const error = left.read.error ?? right.read.error;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isWide
      title={<span className="font-mono text-base break-all">{path}</span>}
      description={
        lines === undefined
          ? "As both runs left it"
          : [
              `From A to B: ${count("added")} added, ${count("removed")} removed`,
              ...(left.isThere ? [] : ["A has no such file"]),
              ...(right.isThere ? [] : ["B has no such file"]),
            ].join(". ")
      }
    >
      {error !== null && (
        <Problem
          error={error}
          what="The two versions could not be read"
          onRetry={() => void Promise.all([left.read.refetch(), right.read.refetch()])}
        />
      )}
      {isBinary && <p className="text-sm text-ink-3">These bytes are no text.</p>}
      {lines === undefined && !isBinary && error === null && <div className="skeleton h-60" />}
      {lines !== undefined && (
        <VList
          tabIndex={0}
          role="table"
          aria-label={`${path} from A to B`}
          className="h-full! rounded-lg border border-line font-mono text-xs leading-[20px]"
          data={lines}
        >
          {(line, at) => <DiffRow key={at} line={line} colours={colours} />}
        </VList>
      )}
    </Dialog>
  );
}
