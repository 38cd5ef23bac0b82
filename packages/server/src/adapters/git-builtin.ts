/** Our own Git host: bare repositories on this machine, whose pull requests and checks are refs that no client sees. */
import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { AppError } from "@drover/contract";
import type { CommitStatus, GitHost, HostedRepository, HostPullRequest, MergeSpec } from "../ports/git-host.ts";
import type { GitObjects, RefChange } from "../ports/git-objects.ts";
import { toGitDir } from "./git-bare.ts";
import { runGit } from "./git/run-git.ts";

const IMPORT_LIMIT_MS = 10 * 60_000;
const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/** How often a number or a record is taken again after somebody else was faster. */
const ATTEMPTS = 20;
const AUTHOR = "Drover";

const toPullRef = (number: number) => `refs/drover/pulls/${number}`;
const toCheckRef = (commit: string) => `refs/drover/checks/${commit}`;
const toBranchRef = (name: string) => `refs/heads/${name}`;

/** As it is kept; what changes by itself (the head's commit, whether it merges) is looked up. */
interface KeptPull {
  readonly title: string;
  readonly body: string;
  readonly head: string;
  readonly base: string;
  readonly state: HostPullRequest["state"];
  readonly headCommit: string | null;
  readonly mergeCommit: string | null;
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    // Expected: it is not there yet.
    () => false,
  );

export function openBuiltinHost(root: string, objects: GitObjects): GitHost {
  const dirOf = (repo: HostedRepository) => toGitDir(root, repo.projectId);
  const git = async (repo: HostedRepository, args: readonly string[], signal: AbortSignal, input?: string) => {
    const run = { args: ["--git-dir", dirOf(repo), ...args], ...(input === undefined ? {} : { input }) };
    return (await runGit(run, signal)).stdout.toString("utf8").trim();
  };

  const create = async (repo: HostedRepository, signal: AbortSignal): Promise<void> => {
    await mkdir(root, { recursive: true, mode: 0o700 });
    const fresh = join(root, `.new-${randomBytes(6).toString("hex")}`);
    const inFresh = (args: readonly string[], input = "") =>
      runGit({ args: ["--git-dir", fresh, ...args], input, timeoutMs: IMPORT_LIMIT_MS }, signal);
    try {
      await runGit({ args: ["init", "--quiet", "--bare", "--template=", "--initial-branch=main", fresh] }, signal);
      if (repo.importFrom !== null) {
        // `file://` copies objects instead of linking to somebody else's.
        const source = isAbsolute(repo.importFrom) ? `file://${repo.importFrom}` : repo.importFrom;
        const refs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        await inFresh(["fetch", "--quiet", "--no-auto-gc", "--no-write-fetch-head", "--", source, ...refs]);
        const listed = await inFresh(["ls-remote", "--symref", "--", source, "HEAD"]);
        const [, head] = /^ref: (refs\/heads\/\S+)\tHEAD$/m.exec(listed.stdout.toString("utf8")) ?? [];
        if (head !== undefined) await inFresh(["symbolic-ref", "HEAD", head]);
      }
      const { code } = await runGit(
        { args: ["--git-dir", fresh, "rev-parse", "--verify", "--quiet", "HEAD"], answers: [1, 128] },
        signal,
      );
      // Nothing can branch off from nothing.
      if (code !== 0) {
        await inFresh(["hash-object", "-w", "-t", "tree", "--stdin"]);
        const env = { GIT_AUTHOR_NAME: AUTHOR, GIT_AUTHOR_EMAIL: "drover@localhost" };
        const committer = { GIT_COMMITTER_NAME: AUTHOR, GIT_COMMITTER_EMAIL: "drover@localhost" };
        const made = await runGit(
          {
            args: ["--git-dir", fresh, "commit-tree", EMPTY_TREE],
            input: "Start\n",
            env: { ...env, ...committer },
          },
          signal,
        );
        const head = (await inFresh(["symbolic-ref", "HEAD"])).stdout.toString("utf8").trim();
        await inFresh(["update-ref", head, made.stdout.toString("utf8").trim()]);
      }
      // Expected: another request was faster; its repository is then the one to use.
      await rename(fresh, dirOf(repo)).catch(async (cause: unknown) => {
        if (!(await exists(join(dirOf(repo), "HEAD")))) throw cause;
      });
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  };

  const readRecord = async <T>(repo: HostedRepository, ref: string, signal: AbortSignal) => {
    const run = { args: ["--git-dir", dirOf(repo), "rev-parse", "--verify", "--quiet", ref], answers: [1, 128] };
    const { code, stdout } = await runGit(run, signal);
    if (code !== 0) return undefined;
    const id = stdout.toString("utf8").trim();
    return { id, value: JSON.parse(await git(repo, ["cat-file", "blob", id], signal)) as T };
  };
  const writeRecord = (repo: HostedRepository, value: unknown, signal: AbortSignal) =>
    git(repo, ["hash-object", "-w", "--stdin"], signal, JSON.stringify(value));

  /** Tries again when somebody else has changed the same refs meanwhile. */
  const persist = async <T>(attempt: () => Promise<T>): Promise<T> => {
    for (let times = 1; ; times += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "git.conflict" || times === ATTEMPTS) throw error;
      }
    }
  };

  /** Every pull request, oldest first, in two processes however many there are. */
  const listPulls = async (repo: HostedRepository, signal: AbortSignal) => {
    const format = "--format=%(refname:lstrip=3) %(objectname)";
    const listed = (await git(repo, ["for-each-ref", format, "refs/drover/pulls"], signal)).split("\n");
    const refs = listed.filter((line) => line !== "").map((line) => line.split(" "));
    const ids = refs.map(([, id]) => `${id ?? ""}\n`).join("");
    // For each a line about it, then its JSON, which is one line too.
    const records = (await git(repo, ["cat-file", "--batch"], signal, ids)).split("\n");
    return refs
      .map(([number], index) => ({
        number: Number(number),
        value: JSON.parse(records[index * 2 + 1] ?? "") as KeptPull,
      }))
      .toSorted((a, b) => a.number - b.number);
  };

  const view = async (
    repo: HostedRepository,
    number: number,
    kept: KeptPull,
    signal: AbortSignal,
  ): Promise<HostPullRequest> => {
    if (kept.state !== "open") return { ...kept, number, url: null, isMergeable: null };
    const head = await objects.resolve(repo.projectId, toBranchRef(kept.head), signal);
    const base = await objects.resolve(repo.projectId, toBranchRef(kept.base), signal);
    const isMergeable =
      head !== undefined &&
      base !== undefined &&
      (await objects.tryMerge(repo.projectId, base, head, signal)).conflicts.length === 0;
    return { ...kept, number, url: null, headCommit: head ?? null, isMergeable };
  };

  const load = async (repo: HostedRepository, number: number, signal: AbortSignal) => {
    const found = await readRecord<KeptPull>(repo, toPullRef(number), signal);
    if (found === undefined) throw new AppError("pull_request.not_found");
    return found;
  };

  /** One commit after the other onto the base. A commit is carried over as a merge whose common ancestor is its parent. */
  const rebase = async (repo: HostedRepository, base: string, head: string, signal: AbortSignal): Promise<string> => {
    const listed = await git(repo, ["rev-list", "--reverse", "--no-merges", `${base}..${head}`, "--"], signal);
    let tip = base;
    for (const commit of listed.split("\n").filter((one) => one !== "")) {
      const parent = await objects.resolve(repo.projectId, `${commit}^`, signal);
      const tipTree = await git(repo, ["rev-parse", `${tip}^{tree}`], signal);
      const parents = parent === undefined ? [] : [parent];
      const stand = await objects.writeCommit(
        repo.projectId,
        { tree: tipTree, parents, message: "", author: AUTHOR },
        signal,
      );
      const trial = await objects.tryMerge(repo.projectId, stand, commit, signal);
      requireClean(trial.conflicts.map(({ path }) => path));
      const author = await git(repo, ["log", "-1", "--format=%an", commit], signal);
      const message = await git(repo, ["log", "-1", "--format=%B", commit], signal);
      const draft = { tree: trial.tree, parents: [tip], message: `${message}\n`, author };
      tip = await objects.writeCommit(repo.projectId, draft, signal);
    }
    return tip;
  };

  const writeMerge = async (
    repo: HostedRepository,
    spec: MergeSpec,
    base: string,
    head: string,
    signal: AbortSignal,
  ): Promise<string> => {
    if (spec.method === "rebase") return rebase(repo, base, head, signal);
    const trial = await objects.tryMerge(repo.projectId, base, head, signal);
    requireClean(trial.conflicts.map(({ path }) => path));
    const parents = spec.method === "squash" ? [base] : [base, head];
    const draft = { tree: trial.tree, parents, message: `${spec.title}\n`, author: AUTHOR };
    return objects.writeCommit(repo.projectId, draft, signal);
  };

  const move = (repo: HostedRepository, changes: readonly RefChange[], signal: AbortSignal) =>
    objects.moveRefs(repo.projectId, changes, signal);

  return {
    kind: "builtin",
    ensureRepository: async (repo, signal) => {
      if (!(await exists(join(dirOf(repo), "HEAD")))) await create(repo, signal);
      return { defaultBranch: await git(repo, ["symbolic-ref", "--short", "HEAD"], signal) };
    },
    hold: (_repo, work) => work(),
    listBranches: async (repo, signal) => {
      const listed = await git(
        repo,
        ["for-each-ref", "--format=%(refname:lstrip=2)%00%(objectname)", "refs/heads"],
        signal,
      );
      return listed
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => {
          const [name = "", commit = ""] = line.split("\0");
          return { name, commit };
        });
    },
    ensureBranch: async (repo, name, fromCommit, signal) => {
      const ref = toBranchRef(name);
      const known = await objects.resolve(repo.projectId, ref, signal);
      if (known !== undefined) return { name, commit: known };
      try {
        await move(repo, [{ ref, from: null, to: fromCommit }], signal);
      } catch (error) {
        // Expected: a racing caller has made it; anything else is told.
        const made = await objects.resolve(repo.projectId, ref, signal);
        if (made === undefined) throw error;
        return { name, commit: made };
      }
      return { name, commit: fromCommit };
    },
    ensureBranchGone: async (repo, name, signal) => {
      const ref = toBranchRef(name);
      const commit = await objects.resolve(repo.projectId, ref, signal);
      if (commit !== undefined) await move(repo, [{ ref, from: commit, to: null }], signal);
    },
    ensureAdvanced: async (repo, name, from, to, signal) => {
      const ref = toBranchRef(name);
      if ((await objects.resolve(repo.projectId, ref, signal)) === to) return;
      await move(repo, [{ ref, from, to }], signal);
    },
    // What lies in the local repository lies at the host: they are one.
    ensurePublished: async () => undefined,
    ensurePullRequest: (repo, spec, signal) =>
      persist(async () => {
        const pulls = await listPulls(repo, signal);
        const open = pulls.findLast(
          ({ value }) => value.state === "open" && value.head === spec.head && value.base === spec.base,
        );
        if (open !== undefined) return view(repo, open.number, open.value, signal);
        const number = (pulls.at(-1)?.number ?? 0) + 1;
        const kept: KeptPull = { ...spec, state: "open", headCommit: null, mergeCommit: null };
        const id = await writeRecord(repo, kept, signal);
        await move(repo, [{ ref: toPullRef(number), from: null, to: id }], signal);
        return view(repo, number, kept, signal);
      }),
    loadPullRequest: async (repo, number, signal) => {
      const found = await readRecord<KeptPull>(repo, toPullRef(number), signal);
      return found === undefined ? undefined : view(repo, number, found.value, signal);
    },
    ensureMerged: async (repo, number, spec, signal) => {
      const { id, value } = await load(repo, number, signal);
      if (value.state === "merged" && value.mergeCommit !== null) return { commit: value.mergeCommit };
      if (value.state === "closed") throw new AppError("git.conflict", `pull request ${number} is closed`);
      const head = await objects.resolve(repo.projectId, toBranchRef(value.head), signal);
      const base = await objects.resolve(repo.projectId, toBranchRef(value.base), signal);
      if (head === undefined || base === undefined) throw new AppError("git.conflict", "a branch of it is gone");
      if (head !== spec.headCommit) throw new AppError("git.conflict", `${value.head} has moved meanwhile`);
      const commit = await writeMerge(repo, spec, base, head, signal);
      const record = await writeRecord(
        repo,
        { ...value, state: "merged", headCommit: head, mergeCommit: commit },
        signal,
      );
      // The branch and the record that tells of it change together, or not at all.
      await move(
        repo,
        [
          { ref: toBranchRef(value.base), from: base, to: commit },
          { ref: toPullRef(number), from: id, to: record },
        ],
        signal,
      );
      return { commit };
    },
    ensureClosed: (repo, number, signal) =>
      persist(async () => {
        const { id, value } = await load(repo, number, signal);
        if (value.state !== "open") return;
        const record = await writeRecord(repo, { ...value, state: "closed" }, signal);
        await move(repo, [{ ref: toPullRef(number), from: id, to: record }], signal);
      }),
    ensureStatus: (repo, commit, status, signal) =>
      persist(async () => {
        const ref = toCheckRef(commit);
        const found = await readRecord<readonly CommitStatus[]>(repo, ref, signal);
        const others = (found?.value ?? []).filter((one) => one.context !== status.context);
        const record = await writeRecord(repo, [...others, status], signal);
        if (record !== found?.id) await move(repo, [{ ref, from: found?.id ?? null, to: record }], signal);
      }),
    listStatuses: async (repo, commit, signal) =>
      (await readRecord<readonly CommitStatus[]>(repo, toCheckRef(commit), signal))?.value ?? [],
  };
}

function requireClean(paths: readonly string[]): void {
  if (paths.length > 0) throw new AppError("git.conflict", `conflicts in ${paths.slice(0, 20).join(", ")}`);
}
