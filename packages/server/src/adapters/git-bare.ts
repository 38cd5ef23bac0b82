/** Bare repositories below one directory, read and written by Git's plumbing. */
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { AppError } from "@drover/contract";
import type { ChangedFile, Commit, Conflict, GitObjects, MergeTrial, RefChange } from "../ports/git-objects.ts";
import { runGit, spawnGit, type GitRun } from "./git/run-git.ts";

const COMMITS = 250;
const BUNDLE_LIMIT_MS = 10 * 60_000;
/** For Git to tidy up after a client that went away. */
const HANG_UP_LIMIT_MS = 30_000;
const NOTHING = "0".repeat(40);
/** Git knows it in every repository. */
const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/** What is read of a diff's summary; a longer one has more files than anybody lists. */
const SUMMARY_BYTES = 8 * 1024 * 1024;

export const toGitDir = (root: string, repository: string): string => join(root, `${repository}.git`);

/** Author and committer are ours to name; the time is now. */
const toIdentity = (author: string): Record<string, string> => ({
  GIT_AUTHOR_NAME: author,
  GIT_AUTHOR_EMAIL: "drover@localhost",
  GIT_COMMITTER_NAME: "Drover",
  GIT_COMMITTER_EMAIL: "drover@localhost",
});

function parseCommits(text: string): readonly Commit[] {
  return text
    .split("\0")
    .filter((one) => one !== "")
    .map((one) => {
      const [id = "", author = "", at = "", subject = ""] = one.trim().split("\x1f");
      return { id, author, at: new Date(at).toISOString(), subject };
    });
}

const KINDS: Readonly<Record<string, ChangedFile["change"]>> = {
  A: "created",
  C: "created",
  D: "deleted",
  R: "renamed",
};

/** `--raw --numstat -z`: first every file's kind, then every file's lines, in the same order; a rename has two paths. */
function parseSummary(text: string): readonly ChangedFile[] {
  const parts = text.split("\0");
  const kinds: { path: string; oldPath: string | null; change: ChangedFile["change"] }[] = [];
  const lines: { added: string; removed: string }[] = [];
  for (let at = 0; at < parts.length;) {
    const part = parts[at] ?? "";
    if (part.startsWith(":")) {
      const letter = part.slice(part.lastIndexOf(" ") + 1).charAt(0);
      const isPair = letter === "R" || letter === "C";
      kinds.push({
        path: parts[at + (isPair ? 2 : 1)] ?? "",
        oldPath: letter === "R" ? (parts[at + 1] ?? null) : null,
        change: KINDS[letter] ?? "modified",
      });
      at += isPair ? 3 : 2;
    } else {
      const [added, removed, path] = part.split("\t");
      if (added !== undefined && removed !== undefined) lines.push({ added, removed });
      at += path === "" ? 3 : 1;
    }
  }
  return kinds.map((kind, index) => {
    const { added, removed } = lines[index] ?? { added: "0", removed: "0" };
    return { ...kind, linesAdded: Number(added) || 0, linesRemoved: Number(removed) || 0, isBinary: added === "-" };
  });
}

/** Tree, conflicted paths, an empty part, then for each message: how many paths, these, its kind, its text. */
function parseMerge(text: string): MergeTrial {
  const parts = text.split("\0");
  const tree = (parts[0] ?? "").trim();
  const gap = parts.indexOf("", 1);
  const paths = parts.slice(1, gap === -1 ? undefined : gap);
  const kinds = new Map<string, string>();
  for (let at = gap + 1; gap !== -1 && at < parts.length;) {
    const count = Number(parts[at]);
    if (!Number.isInteger(count) || parts[at] === "") break;
    const [, kind] = /^CONFLICT \((.+)\)$/.exec(parts[at + count + 1] ?? "") ?? [];
    if (kind !== undefined)
      for (const path of parts.slice(at + 1, at + 1 + count)) if (kinds.get(path) !== "binary") kinds.set(path, kind);
    at += count + 3;
  }
  const conflicts: Conflict[] = [...new Set(paths)].map((path) => ({ path, kind: kinds.get(path) ?? "contents" }));
  return { tree, conflicts };
}

export function openBareRepositories(root: string): GitObjects {
  const git = (repository: string, run: GitRun, signal: AbortSignal) =>
    runGit({ ...run, args: ["--git-dir", toGitDir(root, repository), ...run.args] }, signal);
  const text = async (repository: string, args: readonly string[], signal: AbortSignal) =>
    (await git(repository, { args }, signal)).stdout.toString("utf8").trim();

  return {
    resolve: async (repository, revision, signal) => {
      const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`];
      const { code, stdout } = await git(repository, { args, answers: [1, 128] }, signal);
      return code === 0 ? stdout.toString("utf8").trim() : undefined;
    },
    compare: async (repository, base, head, signal) => {
      const counted = await text(
        repository,
        ["rev-list", "--left-right", "--count", `${base}...${head}`, "--"],
        signal,
      );
      const [behindBy = 0, aheadBy = 0] = counted.split("\t").map(Number);
      const format = "--format=%H%x1f%an%x1f%aI%x1f%s";
      const log = await text(
        repository,
        ["log", "-z", format, `--max-count=${COMMITS}`, `${base}..${head}`, "--"],
        signal,
      );
      const names = await git(
        repository,
        {
          args: ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", `${base}...${head}`, "--"],
          limitBytes: SUMMARY_BYTES,
          answers: [128],
        },
        signal,
      );
      return {
        status: aheadBy > 0 ? (behindBy > 0 ? "diverged" : "ahead") : behindBy > 0 ? "behind" : "identical",
        aheadBy,
        behindBy,
        filesChanged: names.stdout.filter((byte) => byte === 0).length,
        commits: parseCommits(log),
      };
    },
    diff: async (repository, base, head, limitBytes, signal) => {
      const { code } = await git(repository, { args: ["merge-base", base, head], answers: [1] }, signal);
      // Histories that share nothing: all of the head is new.
      const ends = code === 0 ? [`${base}...${head}`] : [EMPTY_TREE, head];
      const range = ["--no-ext-diff", "--no-textconv", "--find-renames", ...ends, "--"];
      const summary = await git(
        repository,
        { args: ["diff", "--raw", "--numstat", "-z", ...range], limitBytes: SUMMARY_BYTES },
        signal,
      );
      const whole = await git(repository, { args: ["diff", "--binary", "--full-index", ...range], limitBytes }, signal);
      return {
        patch: whole.stdout.toString("utf8"),
        isCut: whole.isCut,
        files: parseSummary(summary.stdout.toString("utf8")),
      };
    },
    tryMerge: async (repository, ours, theirs, signal) => {
      const args = ["merge-tree", "--write-tree", "--name-only", "-z", "--messages", "--allow-unrelated-histories"];
      const { stdout } = await git(repository, { args: [...args, ours, theirs], answers: [1] }, signal);
      return parseMerge(stdout.toString("utf8"));
    },
    writeCommit: async (repository, draft, signal) => {
      const args = ["commit-tree", draft.tree, ...draft.parents.flatMap((parent) => ["-p", parent])];
      const { stdout } = await git(repository, { args, input: draft.message, env: toIdentity(draft.author) }, signal);
      return stdout.toString("utf8").trim();
    },
    moveRefs: async (repository, changes, signal) => {
      const input = ["start", ...changes.map(toCommand), "prepare", "commit"].join("\n");
      const { code, stderr } = await git(
        repository,
        { args: ["update-ref", "--stdin"], input: `${input}\n`, answers: [128, 1] },
        signal,
      );
      if (code !== 0)
        throw new AppError(
          "git.conflict",
          stderr
            .replace(/^fatal: /, "")
            .trim()
            .slice(0, 300),
        );
    },
    serve: (repository, service, input, signal) => {
      const program = service.service.slice("git-".length);
      const settings = [
        `receive.denyNonFastForwards=${!service.isRewriteAllowed}`,
        `receive.maxInputSize=${service.maxInputBytes}`,
        "receive.fsckObjects=true",
        "receive.autogc=false",
        "uploadpack.allowFilter=true",
      ].flatMap((setting) => ["-c", setting]);
      const args = [
        ...settings,
        program,
        "--stateless-rpc",
        ...(service.isAdvertisement ? ["--http-backend-info-refs"] : []),
        toGitDir(root, repository),
      ];
      // Without GIT_PROTOCOL the older protocol is spoken, which gives out what is advertised and nothing else.
      const child = spawnGit(args);
      const output = new PassThrough();
      child.once("error", (error) => output.destroy(error));
      child.stderr.resume();
      child.stdin.on("error", () => undefined);
      input.pipe(child.stdin);
      // Half a pack is taken away by Git itself when its input ends; it would stay if Git were killed.
      const hangUp = () => {
        input.unpipe(child.stdin);
        child.stdin.end();
        child.stdout.resume();
        setTimeout(() => child.kill("SIGKILL"), HANG_UP_LIMIT_MS).unref();
      };
      signal.addEventListener("abort", hangUp, { once: true });
      child.once("close", () => signal.removeEventListener("abort", hangUp));
      child.stdout.pipe(output);
      return output;
    },
    bundle: async (repository, target, signal) => {
      const args = ["bundle", "create", "--quiet", target, "--branches", "--tags"];
      await git(repository, { args, timeoutMs: BUNDLE_LIMIT_MS }, signal);
    },
  };
}

function toCommand({ ref, from, to }: RefChange): string {
  if (to === null) return `delete ${ref} ${from ?? NOTHING}`;
  return from === null ? `create ${ref} ${to}` : `update ${ref} ${to} ${from}`;
}
