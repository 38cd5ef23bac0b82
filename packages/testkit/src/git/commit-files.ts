/** Commits written straight into a bare repository, by one process, without a working tree. */
import { execFileSync } from "node:child_process";

export interface TestCommit {
  readonly parents?: readonly string[];
  /** `null` deletes. */
  readonly files: Readonly<Record<string, string | Uint8Array | null>>;
  readonly message?: string;
}

/** The new commit's id. No branch is moved. */
export function commitFiles(gitDir: string, commit: TestCommit): string {
  const message = Buffer.from(commit.message ?? "a change");
  const [parent, ...others] = commit.parents ?? [];
  const parts: (string | Uint8Array)[] = [
    "commit refs/drover/scratch\nmark :1\n",
    `committer A Test <test@example.org> 1700000000 +0000\ndata ${message.length}\n`,
    message,
    "\n",
    ...(parent === undefined ? [] : [`from ${parent}\n`]),
    ...others.map((other) => `merge ${other}\n`),
  ];
  for (const [path, content] of Object.entries(commit.files)) {
    if (content === null) parts.push(`D ${path}\n`);
    else {
      const bytes = Buffer.from(content);
      parts.push(`M 100644 inline ${path}\ndata ${bytes.length}\n`, bytes, "\n");
    }
  }
  parts.push("get-mark :1\n", "reset refs/drover/scratch\nfrom 0000000000000000000000000000000000000000\n\n");
  return execFileSync(
    "git",
    ["-c", "core.hooksPath=/dev/null", "--git-dir", gitDir, "fast-import", "--quiet", "--force"],
    {
      input: Buffer.concat(parts.map((part) => Buffer.from(part))),
      encoding: "utf8",
    },
  ).trim();
}

/** What a file holds in a commit or branch; undefined when it is not there. */
export function readCommitted(gitDir: string, revision: string, path: string): string | undefined {
  try {
    return execFileSync("git", ["--git-dir", gitDir, "cat-file", "blob", `${revision}:${path}`], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    // Expected: the path is not there.
    return undefined;
  }
}
