/** A patch with its two sides beside each other, and a patch without what only moves blanks. */
import type { DiffLine } from "./diff.ts";

export interface DiffPair {
  readonly left: DiffLine | undefined;
  readonly right: DiffLine | undefined;
}

interface Block {
  readonly removed: readonly DiffLine[];
  readonly added: readonly DiffLine[];
  /** What follows the change; undefined at the end. */
  readonly next: DiffLine | undefined;
}

/** Runs of removed and added lines, each with the line that ends it. */
function* listBlocks(lines: readonly DiffLine[]): Generator<Block> {
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  for (const line of lines) {
    if (line.kind === "removed" && added.length === 0) removed.push(line);
    else if (line.kind === "added") added.push(line);
    else if (line.kind === "removed") {
      yield { removed, added, next: undefined };
      [removed, added] = [[line], []];
    } else {
      yield { removed, added, next: line };
      [removed, added] = [[], []];
    }
  }
  if (removed.length + added.length > 0) yield { removed, added, next: undefined };
}

export function toSides(lines: readonly DiffLine[]): readonly DiffPair[] {
  const pairs: DiffPair[] = [];
  for (const { removed, added, next } of listBlocks(lines)) {
    for (let n = 0; n < Math.max(removed.length, added.length); n += 1)
      pairs.push({ left: removed[n], right: added[n] });
    if (next !== undefined) pairs.push({ left: next, right: next });
  }
  return pairs;
}

const isSameBut = (one: string, other: string): boolean => one.replaceAll(/\s+/g, "") === other.replaceAll(/\s+/g, "");

/** Lines that differ in blanks only are shown as what they are: the same. */
export function withoutBlankChanges(lines: readonly DiffLine[]): readonly DiffLine[] {
  const kept: DiffLine[] = [];
  for (const { removed, added, next } of listBlocks(lines)) {
    const isPaired = removed.length === added.length;
    const isBlank = (n: number) => isPaired && isSameBut(removed[n]?.text ?? "", added[n]?.text ?? "");
    for (const [n, line] of removed.entries())
      if (isBlank(n))
        kept.push({ ...line, kind: "context", text: added[n]?.text ?? "", newLine: added[n]?.newLine ?? null });
      else kept.push(line);
    kept.push(...added.filter((_, n) => !isBlank(n)));
    if (next !== undefined) kept.push(next);
  }
  return kept;
}
