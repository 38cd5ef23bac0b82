/** A unified patch as lines. Counts what each hunk announced, so that a deleted `-- comment` is not taken for a header. */
export interface DiffLine {
  readonly kind: "file" | "hunk" | "added" | "removed" | "context" | "note";
  readonly text: string;
  readonly oldLine: number | null;
  readonly newLine: number | null;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;

export function parseDiff(patch: string, limit = Number.POSITIVE_INFINITY): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let oldLine = 0;
  let newLine = 0;
  let oldLeft = 0;
  let newLeft = 0;
  let from = 0;
  const end = patch.endsWith("\n") ? patch.length - 1 : patch.length;
  while (from <= end && patch !== "" && lines.length < limit) {
    const cut = patch.indexOf("\n", from);
    const to = cut === -1 || cut > end ? end : cut;
    const raw = patch.slice(from, to);
    from = to + 1;
    const text = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    if (oldLeft > 0 || newLeft > 0) {
      const mark = text[0];
      const body = text.slice(1);
      if (mark === "+") {
        lines.push({ kind: "added", text: body, oldLine: null, newLine });
        newLine += 1;
        newLeft -= 1;
      } else if (mark === "-") {
        lines.push({ kind: "removed", text: body, oldLine, newLine: null });
        oldLine += 1;
        oldLeft -= 1;
      } else if (mark === "\\") {
        lines.push({ kind: "note", text: text.slice(2), oldLine: null, newLine: null });
      } else {
        lines.push({ kind: "context", text: body, oldLine, newLine });
        oldLine += 1;
        newLine += 1;
        oldLeft -= 1;
        newLeft -= 1;
      }
      continue;
    }
    const hunk = HUNK.exec(text);
    if (hunk !== null) {
      oldLine = Number(hunk[1]);
      oldLeft = Number(hunk[2] ?? 1);
      newLine = Number(hunk[3]);
      newLeft = Number(hunk[4] ?? 1);
      lines.push({ kind: "hunk", text, oldLine: null, newLine: null });
    } else if (text.startsWith("\\ ")) {
      lines.push({ kind: "note", text: text.slice(2), oldLine: null, newLine: null });
    } else {
      lines.push({ kind: "file", text, oldLine: null, newLine: null });
    }
  }
  return lines;
}

export const countLines = (text: string): number => {
  if (text === "") return 0;
  let count = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
};
