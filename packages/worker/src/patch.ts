/** A change of one file as a patch that `git apply` accepts. Pure. */
import { structuredPatch } from "diff";

export interface FileVersion {
  readonly name: string;
  readonly text: string;
  readonly isExecutable: boolean;
}

export interface Patch {
  readonly changeType: "created" | "modified" | "deleted" | "renamed";
  readonly text: string;
  readonly linesAdded: number;
  readonly linesRemoved: number;
}

const TIMEOUT_MS = 1_000;
const NO_NEWLINE = "\\ No newline at end of file";
const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\" };

/** Git puts names with special characters in C quotes, bytes outside ASCII as octal. */
function toQuoted(name: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(name) && !/["\\]/.test(name);
  if (isPlain) return name;
  const quoted = Array.from(Buffer.from(name, "utf8"), (byte) => {
    const character = String.fromCharCode(byte);
    if (ESCAPES[character] !== undefined) return ESCAPES[character];
    return byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, "0")}` : character;
  });
  return `"${quoted.join("")}"`;
}

/** A tab ends a name with spaces, as git writes it. */
const toFileLine = (mark: "---" | "+++", side: "a" | "b", version: FileVersion | undefined) => {
  if (version === undefined) return `${mark} /dev/null`;
  const name = toQuoted(`${side}/${version.name}`);
  return `${mark} ${name}${name.includes(" ") && !name.startsWith('"') ? "\t" : ""}`;
};

const toLines = (text: string, sign: string) => {
  if (text === "") return [];
  const lines = text.split("\n");
  const isEnded = lines.at(-1) === "";
  if (isEnded) lines.pop();
  return [...lines.map((line) => sign + line), ...(isEnded ? [] : [NO_NEWLINE])];
};
const countLines = (lines: readonly string[]) => lines.filter((line) => line !== NO_NEWLINE).length;

/** Everything out, everything in: for files so different that a finer answer takes too long. */
function toWholeHunk(before: string, after: string): string[] {
  const removed = toLines(before, "-");
  const added = toLines(after, "+");
  const [old, fresh] = [countLines(removed), countLines(added)];
  return [`@@ -${old === 0 ? 0 : 1},${old} +${fresh === 0 ? 0 : 1},${fresh} @@`, ...removed, ...added];
}

function toHunks(before: string, after: string): string[] {
  if (before === after) return [];
  if (before === "" || after === "") return toWholeHunk(before, after);
  const found = structuredPatch("a", "b", before, after, undefined, undefined, { context: 3, timeout: TIMEOUT_MS });
  if (found === undefined) return toWholeHunk(before, after);
  return found.hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...hunk.lines,
  ]);
}

const toMode = (version: FileVersion) => (version.isExecutable ? "100755" : "100644");

function toHeader(before: FileVersion | undefined, after: FileVersion | undefined): string[] {
  if (before === undefined && after !== undefined) return [`new file mode ${toMode(after)}`];
  if (after === undefined && before !== undefined) return [`deleted file mode ${toMode(before)}`];
  if (before === undefined || after === undefined || before.name === after.name) return [];
  const similarity = before.text === after.text ? ["similarity index 100%"] : [];
  return [...similarity, `rename from ${toQuoted(before.name)}`, `rename to ${toQuoted(after.name)}`];
}

/** `undefined` when nothing changed. */
export function toPatch(before: FileVersion | undefined, after: FileVersion | undefined): Patch | undefined {
  const named = after ?? before;
  if (named === undefined) return undefined;
  const hunks = toHunks(before?.text ?? "", after?.text ?? "");
  const header = toHeader(before, after);
  if (hunks.length === 0 && header.length === 0) return undefined;
  const isRenamed = before !== undefined && after !== undefined && before.name !== after.name;
  const lines = [
    `diff --git ${toQuoted(`a/${(before ?? named).name}`)} ${toQuoted(`b/${(after ?? named).name}`)}`,
    ...header,
    ...(hunks.length === 0 ? [] : [toFileLine("---", "a", before), toFileLine("+++", "b", after), ...hunks]),
  ];
  return {
    changeType: before === undefined ? "created" : after === undefined ? "deleted" : isRenamed ? "renamed" : "modified",
    text: `${lines.join("\n")}\n`,
    linesAdded: hunks.filter((line) => line.startsWith("+")).length,
    linesRemoved: hunks.filter((line) => line.startsWith("-")).length,
  };
}
