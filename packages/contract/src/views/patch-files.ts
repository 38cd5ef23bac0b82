/** A patch of many files as one patch per file. Every line of a file's patch belongs to it, whatever stands in it. */
export interface PatchFile {
  readonly path: string;
  readonly patch: string;
}

const HEADER = /^diff --git /;
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** Git quotes names with bytes that are not plain, each as three octal digits. */
function unquote(name: string): string {
  if (!name.startsWith('"')) return name;
  const plain = name.slice(1, -1).replaceAll(/\\(["\\])/g, "$1");
  const encoded = plain
    .replaceAll("%", "%25")
    .replaceAll(/\\([0-7]{3})/g, (_, octal: string) => `%${Number.parseInt(octal, 8).toString(16).padStart(2, "0")}`);
  try {
    return decodeURIComponent(encoded);
  } catch {
    // Expected: the name is no UTF-8.
    return plain;
  }
}

function readPath(lines: readonly string[]): string {
  for (const mark of ["+++ ", "rename to ", "--- "]) {
    const line = lines.find((one) => one.startsWith(mark));
    const name = line === undefined ? undefined : unquote(line.slice(mark.length).replace(/\t$/, ""));
    if (name !== undefined && name !== "/dev/null") return mark === "rename to " ? name : name.replace(/^[ab]\//, "");
  }
  return unquote(/^diff --git .* ("?b\/.*)$/.exec(lines[0] ?? "")?.[1] ?? "").replace(/^b\//, "");
}

export function splitPatch(patch: string): readonly PatchFile[] {
  const files: PatchFile[] = [];
  let lines: string[] = [];
  let headers: string[] = [];
  let oldLeft = 0;
  let newLeft = 0;
  const close = () => {
    if (lines.length > 0) files.push({ path: readPath(headers), patch: `${lines.join("\n")}\n` });
    lines = [];
    headers = [];
  };
  for (const line of (patch.endsWith("\n") ? patch.slice(0, -1) : patch).split("\n")) {
    const isInHunk = oldLeft > 0 || newLeft > 0;
    if (isInHunk) {
      if (line[0] !== "+" && line[0] !== "\\") oldLeft -= 1;
      if (line[0] !== "-" && line[0] !== "\\") newLeft -= 1;
    } else {
      if (HEADER.test(line)) close();
      const hunk = HUNK.exec(line);
      if (hunk === null) headers.push(line);
      oldLeft = hunk === null ? 0 : Number(hunk[1] ?? 1);
      newLeft = hunk === null ? 0 : Number(hunk[2] ?? 1);
    }
    if (lines.length > 0 || HEADER.test(line)) lines.push(line);
  }
  close();
  return files;
}
