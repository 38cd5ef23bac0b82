/** Rows in columns that together fit the terminal: the last column gives way. */
import { cut, toSafeLine, toSafeText, wrap } from "./terminal.ts";

const GAP = "  ";
const lengthOf = (text: string) => Array.from(text).length;

/** No line is wider than `width`, and none ends in blanks. */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): readonly string[] {
  const cells = [header, ...rows.map((row) => row.map(toSafeLine))];
  const widths = header.map((_, column) => Math.max(...cells.map((row) => lengthOf(row[column] ?? ""))));
  return cells.map((row) => {
    const padded = row.map((cell, column) =>
      column === row.length - 1 ? cell : cell + " ".repeat((widths[column] ?? 0) - lengthOf(cell)),
    );
    return cut(padded.join(GAP).trimEnd(), width);
  });
}

/** Names on the left, values on the right; a long value continues below itself. */
export function formatFields(fields: readonly (readonly [string, readonly string[]])[]): readonly string[] {
  const left = Math.max(0, ...fields.map(([name]) => name.length)) + GAP.length;
  return fields.flatMap(([name, lines]) =>
    lines.map((line, index) => `${(index === 0 ? name : "").padEnd(left)}${line}`.trimEnd()),
  );
}

/** Texts of people and agents as fields: without escape sequences and wrapped; what is empty is left out. */
export function formatTexts(
  texts: readonly (readonly [string, string | number | null])[],
  width: number,
): readonly string[] {
  const room = width - Math.max(0, ...texts.map(([name]) => name.length)) - GAP.length;
  return formatFields(
    texts.flatMap(([name, text]) =>
      text === null || text === "" ? [] : [[name, wrap(toSafeText(String(text)), room)] as const],
    ),
  );
}
