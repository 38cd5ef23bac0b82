/** Which change of a run wrote each line of a file: its patches are taken back from the newest on, as blame does. */
import { parseDiff, type DiffLine } from "./diff.ts";
import type { CommandRow, EditRow, FeedRow, FileEdit, MessageRow, PersonRow } from "./feed-row.ts";
import { isTestFailed, isTestRun } from "./test-runs.ts";

export interface FileStep {
  readonly row: EditRow;
  readonly edit: FileEdit;
}

/** Changes of one file in their order, under each name that it had. Paths are those of the events, relative to the workspace. */
export function listFileSteps(rows: readonly FeedRow[], path: string): readonly FileStep[] {
  const steps: FileStep[] = [];
  let name = path;
  for (const row of rows.toReversed()) {
    if (row.kind !== "edit") continue;
    for (const edit of row.edits.toReversed()) {
      if (edit.path !== name) continue;
      steps.push({ row, edit });
      name = edit.oldPath ?? name;
    }
  }
  return steps.toReversed();
}

interface Hunk {
  /** Where its lines begin in the file after the change, counted from 0. */
  readonly start: number;
  readonly lines: readonly DiffLine[];
}

function toHunks(patch: string): readonly Hunk[] {
  const hunks: { start: number; lines: DiffLine[] }[] = [];
  for (const line of parseDiff(patch)) {
    if (line.kind === "hunk") {
      const [, start = "0", count = "1"] = /\+(\d+)(?:,(\d+))?/.exec(line.text) ?? [];
      // Without lines of its own a hunk names the line before it.
      hunks.push({ start: count === "0" ? Number(start) : Number(start) - 1, lines: [] });
    } else if (line.kind !== "file" && line.kind !== "note") hunks.at(-1)?.lines.push(line);
  }
  return hunks;
}

interface Line {
  readonly text: string;
  /** Index in the file that is asked about; -1 for a line that is no more. */
  readonly at: number;
}

/** The place nearest to the expected one where these lines stand; -1 if they stand nowhere. */
function findLines(lines: readonly Line[], wanted: readonly string[], expected: number): number {
  const last = lines.length - wanted.length;
  const isAt = (place: number) =>
    place >= 0 && place <= last && wanted.every((text, n) => lines[place + n]?.text === text);
  if (wanted.length === 0) return Math.min(expected, lines.length);
  for (let away = 0; away <= lines.length; away += 1) {
    if (isAt(expected - away)) return expected - away;
    if (isAt(expected + away)) return expected + away;
  }
  return -1;
}

/** For each line the index of the step that wrote it; undefined for lines that were there before, or that no step tells of. */
export function blameLines(
  text: readonly string[],
  steps: readonly Pick<FileEdit, "patch">[],
): readonly (number | undefined)[] {
  const writers: (number | undefined)[] = Array.from({ length: text.length }, () => undefined);
  const lines: Line[] = text.map((line, at) => ({ text: line.endsWith("\r") ? line.slice(0, -1) : line, at }));
  for (let step = steps.length - 1; step >= 0; step -= 1) {
    for (const hunk of toHunks(steps[step]?.patch ?? "").toReversed()) {
      const after = hunk.lines.filter(({ kind }) => kind !== "removed");
      const place = findLines(
        lines,
        after.map((line) => line.text),
        hunk.start,
      );
      if (place === -1) continue;
      const before: Line[] = [];
      let here = place;
      for (const { kind, text: old } of hunk.lines) {
        const line = kind === "removed" ? undefined : lines[here++];
        if (kind === "removed") before.push({ text: old, at: -1 });
        else if (line !== undefined && kind === "context") before.push(line);
        else if (line !== undefined && line.at !== -1) writers[line.at] = step;
      }
      lines.splice(place, after.length, ...before);
    }
  }
  return writers;
}

/** What led to a change and what came of it. */
export interface ChangeStory {
  readonly asked: PersonRow | undefined;
  readonly said: MessageRow | undefined;
  /** The first run of tests after it. */
  readonly tested: CommandRow | undefined;
  readonly isTestFailed: boolean;
}

export function toChangeStory(rows: readonly FeedRow[], row: Pick<EditRow, "seq" | "turn">): ChangeStory {
  const tested = rows.find((one): one is CommandRow => one.seq > row.seq && isTestRun(one));
  return {
    asked: rows.findLast((one): one is PersonRow => one.kind === "person" && one.seq < row.seq),
    said: rows.findLast(
      (one): one is MessageRow => one.kind === "message" && one.seq < row.seq && one.turn === row.turn,
    ),
    tested,
    isTestFailed: tested !== undefined && isTestFailed(tested),
  };
}
