/** What differs between two texts, as lines of a patch. For files that no git holds side by side. */
import type { DiffLine } from "./diff.ts";

const CONTEXT = 3;
/** Beyond so many differences one text is shown as gone and the other as new. */
const MOST_EDITS = 2_000;

type Edit = readonly ["keep" | "cut" | "add", string];

/** The shortest way from one text to the other, by Myers. Undefined when it is too long. */
function findEdits(a: readonly string[], b: readonly string[]): readonly Edit[] | undefined {
  const most = Math.min(MOST_EDITS, a.length + b.length);
  const traces: Map<number, number>[] = [];
  let reach = new Map<number, number>([[1, 0]]);
  for (let edits = 0; edits <= most; edits += 1) {
    traces.push(new Map(reach));
    const next = new Map<number, number>();
    for (let k = -edits; k <= edits; k += 2) {
      const isDown = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = isDown ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, traces);
    }
    reach = next;
  }
  return undefined;
}

function walkBack(a: readonly string[], b: readonly string[], traces: readonly Map<number, number>[]): readonly Edit[] {
  const edits: Edit[] = [];
  let x = a.length;
  let y = b.length;
  for (let step = traces.length - 1; step >= 0; step -= 1) {
    const reach = traces[step] ?? new Map<number, number>();
    const k = x - y;
    const isDown = k === -step || (k !== step && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const fromX = isDown ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0);
    const start = isDown ? fromX : fromX + 1;
    while (x > start) {
      edits.push(["keep", a[(x -= 1)] ?? ""]);
      y -= 1;
    }
    if (step === 0) break;
    if (isDown) edits.push(["add", b[(y -= 1)] ?? ""]);
    else edits.push(["cut", a[(x -= 1)] ?? ""]);
  }
  return edits.toReversed();
}

const toLines = (text: string): readonly string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

export function diffTexts(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [toLines(before), toLines(after)];
  const edits = findEdits(a, b) ?? [...a.map((text): Edit => ["cut", text]), ...b.map((text): Edit => ["add", text])];
  const lines: DiffLine[] = [];
  let oldLine = 1;
  let newLine = 1;
  for (const [kind, text] of edits) {
    if (kind === "keep") lines.push({ kind: "context", text, oldLine: oldLine++, newLine: newLine++ });
    else if (kind === "cut") lines.push({ kind: "removed", text, oldLine: oldLine++, newLine: null });
    else lines.push({ kind: "added", text, oldLine: null, newLine: newLine++ });
  }
  return fold(lines);
}

/** Leaves out what is far from any difference; a line says where the next piece begins. */
function fold(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = Array.from({ length: lines.length }, () => false);
  for (const [at, line] of lines.entries())
    if (line.kind !== "context") isNear.fill(true, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  return lines.flatMap((line, at) => {
    if (isNear[at] !== true) return [];
    if (at === 0 || isNear[at - 1] === true) return [line];
    return [
      { kind: "hunk" as const, text: `@@ line ${line.newLine ?? line.oldLine ?? 1} @@`, oldLine: null, newLine: null },
      line,
    ];
  });
}
