/** Whether what was said of a line was acted upon: a later change of the file touches that line, wherever it has moved since. */
import { parseDiff } from "./diff.ts";
import type { FileEdit } from "./feed-row.ts";

export interface Remark {
  readonly path: string;
  /** Of the file as it was then; null for the file as a whole. */
  readonly line: number | null;
}

/** Where a line stands after a patch; undefined when the patch takes it away or writes it anew. */
function follow(line: number, patch: string): number | undefined {
  let moved = 0;
  for (const { kind, oldLine, newLine } of parseDiff(patch)) {
    if (kind === "removed" && oldLine === line) return undefined;
    if (kind === "removed" && (oldLine ?? 0) < line) moved -= 1;
    // What is put before the line has a place at which the line stood, or one above.
    if (kind === "added" && (newLine ?? 0) <= line + moved) moved += 1;
  }
  return line + moved;
}

/** The first of these later changes that touches what was remarked on. */
export function findAnswer<T extends Pick<FileEdit, "path" | "oldPath" | "patch">>(
  { path, line }: Remark,
  edits: readonly T[],
): T | undefined {
  let [name, here] = [path, line];
  for (const edit of edits) {
    if (edit.path !== name && edit.oldPath !== name) continue;
    name = edit.path;
    if (here === null) return edit;
    here = follow(here, edit.patch) ?? null;
    if (here === null) return edit;
  }
  return undefined;
}
