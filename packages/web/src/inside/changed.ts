/** Files that a run changed, with the steps of each: of the whole run, of a part of it, or what is left in the end. */
import { parseDiff, splitPatch, type EditRow, type FileEdit } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { diffAtQuery } from "../replay/queries.ts";

export interface Step {
  readonly row: Pick<EditRow, "at" | "turn">;
  readonly edit: FileEdit;
}

export interface Changed {
  readonly path: string;
  readonly change: string;
  readonly added: number;
  readonly removed: number;
  readonly steps: readonly Step[];
}

/** The newest checkpoint: its number in the whole log, and when it was made. */
export interface Checkpoint {
  readonly seq: number;
  readonly created_at: string;
}

export function toChanged(steps: readonly Step[]): readonly Changed[] {
  return [...Map.groupBy(steps, (step) => step.edit.path)].map(([path, own]) => ({
    path,
    change: own[0]?.edit.change === "created" ? "created" : (own.at(-1)?.edit.change ?? "modified"),
    added: own.reduce((sum, { edit }) => sum + edit.added, 0),
    removed: own.reduce((sum, { edit }) => sum + edit.removed, 0),
    steps: own,
  }));
}

/** The folder a file lies in; empty at the top. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** As a tree stands: what lies at the top, then folder by folder. */
export const byPlace = ({ path: one }: Changed, { path: other }: Changed): number =>
  compare(folderOf(one), folderOf(other)) || compare(one, other);

/** Changes when the file does. */
export const toSign = ({ steps }: Changed): string => steps.map(({ edit }) => edit.eventId).join(" ");

/** Only lines before the first hunk are git's own words. */
function readChange(patch: string): string {
  const [head = ""] = patch.split("\n@@ ", 1);
  if (/^new file mode/m.test(head)) return "created";
  if (/^deleted file mode/m.test(head)) return "deleted";
  return /^rename to/m.test(head) ? "renamed" : "modified";
}

/** What is left of all changes, file by file, as git tells it. */
export function useNet(sandboxId: string, checkpoint: Checkpoint | undefined, isWanted: boolean) {
  const read = useQuery({
    ...diffAtQuery(sandboxId, undefined, checkpoint?.seq ?? 0),
    enabled: isWanted && checkpoint !== undefined,
  });
  const changed = useMemo(
    () =>
      splitPatch(read.data?.patch ?? "").map((part): Changed => {
        const lines = parseDiff(part.patch);
        const edit: FileEdit = {
          eventId: `net ${part.path} ${checkpoint?.seq ?? 0}`,
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
