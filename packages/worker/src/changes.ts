/** What changed between two trees: every file with its patch, which `git apply` accepts. */
import { Buffer, isUtf8 } from "node:buffer";
import { type HugeFile, type PathBytes, type Snapshot, toBytes, type Workspace } from "./workspace.ts";

export interface Change {
  /** Text: names that are none stand in the quotes that git puts them in. */
  readonly name: string;
  readonly oldName: string | undefined;
  readonly changeType: "created" | "modified" | "deleted" | "renamed";
  /** Missing when the file is too large for a patch. */
  readonly patch: string | undefined;
  readonly linesAdded: number;
  readonly linesRemoved: number;
  readonly isBinary: boolean;
  readonly size?: number;
}

interface RawChange {
  readonly status: string;
  readonly from: PathBytes;
  readonly to: PathBytes;
}

const TYPES: Readonly<Record<string, Change["changeType"]>> = { A: "created", D: "deleted", R: "renamed" };
const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\" };
/** A patch that is larger helps nobody; the checkpoint has the file. */
const PATCH_LIMIT_BYTES = 16 * 1024 * 1024;

function toName(path: PathBytes): string {
  const bytes = toBytes(path);
  if (isUtf8(bytes) && !path.includes("\0")) return bytes.toString("utf8");
  const quoted = Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    if (ESCAPES[character] !== undefined) return ESCAPES[character];
    return byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, "0")}` : character;
  });
  return `"${quoted.join("")}"`;
}

function parseRaw(output: Buffer): RawChange[] {
  const words = output.toString("latin1").split("\0");
  const changes: RawChange[] = [];
  for (let at = 0; at + 1 < words.length;) {
    const status = words[at]?.split(" ")[4] ?? "";
    const from = words[at + 1] ?? "";
    const isPair = status.startsWith("R") || status.startsWith("C");
    changes.push({ status: status.slice(0, 1), from, to: isPair ? (words[at + 2] ?? "") : from });
    at += isPair ? 3 : 2;
  }
  return changes;
}

/** In the text of a patch only a head begins with these words: lines of content have a sign in front, those of binary patches no space. */
function splitPatches(output: Buffer): Buffer[] {
  const starts: number[] = [];
  const head = Buffer.from("\ndiff --git ");
  if (output.subarray(0, head.length - 1).equals(head.subarray(1))) starts.push(0);
  for (let at = output.indexOf(head); at !== -1; at = output.indexOf(head, at + 1)) starts.push(at + 1);
  return starts.map((start, index) => output.subarray(start, starts[index + 1] ?? output.length));
}

function countLines(patch: string): { readonly added: number; readonly removed: number } {
  const at = patch.indexOf("\n@@ ");
  if (at === -1) return { added: 0, removed: 0 };
  let [added, removed] = [0, 0];
  for (const section of patch.split(/^diff --git .*$/m)) {
    const hunks = section.indexOf("\n@@ ");
    for (const line of hunks === -1 ? [] : section.slice(hunks + 1).split("\n")) {
      if (line.startsWith("+")) added += 1;
      else if (line.startsWith("-")) removed += 1;
    }
  }
  return { added, removed };
}

const isText = (bytes: Buffer) => isUtf8(bytes) && !bytes.includes(0);

/** Lists at most `limit` changes; `total` counts all. */
export async function listChanges(
  workspace: Workspace,
  before: Snapshot,
  after: Snapshot,
  limit: number,
): Promise<{ readonly changes: readonly Change[]; readonly total: number }> {
  const options = ["diff-tree", "-r", "-M", "-l200"];
  const all =
    before.tree === after.tree
      ? []
      : parseRaw(await workspace.run([...options, "-z", "--raw", before.tree, after.tree]));
  const isHugeNow = (path: PathBytes) => after.huge.has(path);
  const isHugeBefore = (path: PathBytes) => before.huge.has(path);
  const raw = all.filter(({ status, to }) => !(status === "D" && isHugeNow(to)));
  const huge = toHugeChanges(before.huge, after.huge, new Set(all.map(({ to }) => to)));

  const patches = raw.length === 0 ? [] : await loadPatches(workspace, options, before, after, all).catch(() => []); // too large altogether
  const shown = all
    .map((change, index) => ({ ...change, patch: patches[index] }))
    .filter(({ status, to }) => !(status === "D" && isHugeNow(to)))
    .slice(0, limit)
    .map(({ status, from, to, patch }): Change => {
      const text = patch?.toString("utf8");
      const { added, removed } = countLines(text ?? "");
      const changeType = isHugeBefore(to) && status === "A" ? "modified" : (TYPES[status] ?? "modified");
      return {
        name: toName(to),
        oldName: changeType === "renamed" ? toName(from) : undefined,
        changeType,
        patch: text,
        linesAdded: added,
        linesRemoved: removed,
        isBinary: text === undefined || text.includes("\nGIT binary patch\n"),
      };
    });
  return { changes: [...shown, ...huge].slice(0, limit), total: raw.length + huge.length };
}

async function loadPatches(
  workspace: Workspace,
  options: readonly string[],
  before: Snapshot,
  after: Snapshot,
  all: readonly RawChange[],
): Promise<(Buffer | undefined)[]> {
  const args = [...options, "-p", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"];
  const take = (sections: readonly Buffer[]) => {
    let at = 0;
    // A file that became a link, or the other way round, is a deletion and a creation.
    const next = (count: number) => Buffer.concat(sections.slice(at, (at += count)));
    return all.map(({ status }) => next(status === "T" ? 2 : 1));
  };
  const patches = take(splitPatches(await workspace.run([...args, before.tree, after.tree])));
  // Content in another encoding would not survive as text: such files are patched as bytes.
  const asBytes = ["-c", `core.attributesFile=${workspace.gitDir}/info/as-bytes`, ...args, before.tree, after.tree];
  const binary = patches.every(isText) ? [] : take(splitPatches(await workspace.run(asBytes)));
  const chosen = patches.map((patch, index) => (isText(patch) ? patch : binary[index]));
  return chosen.map((patch) => (patch === undefined || patch.length > PATCH_LIMIT_BYTES ? undefined : patch));
}

function toHugeChanges(
  before: ReadonlyMap<PathBytes, HugeFile>,
  after: ReadonlyMap<PathBytes, HugeFile>,
  inTree: ReadonlySet<PathBytes>,
): Change[] {
  const none = { oldName: undefined, patch: undefined, linesAdded: 0, linesRemoved: 0, isBinary: true };
  const changed = [...after].flatMap(([path, now]): Change[] => {
    const then = before.get(path);
    if (then !== undefined && then.size === now.size && then.modifiedMs === now.modifiedMs) return [];
    const changeType = then !== undefined || inTree.has(path) ? "modified" : "created";
    return [{ ...none, name: toName(path), changeType, size: now.size }];
  });
  const gone = [...before.keys()].flatMap((path): Change[] =>
    after.has(path) || inTree.has(path) ? [] : [{ ...none, name: toName(path), changeType: "deleted" }],
  );
  return [...changed, ...gone];
}
