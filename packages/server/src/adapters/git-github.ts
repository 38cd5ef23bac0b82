/** GitHub: branches, pull requests and statuses by its API, objects by a bare mirror on this machine. */
import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "@drover/contract";
import { Octokit, RequestError } from "octokit";
import type { Branch, CommitStatus, GitHost, HostedRepository, HostPullRequest } from "../ports/git-host.ts";
import type { GitObjects } from "../ports/git-objects.ts";
import { toGitDir } from "./git-bare.ts";
import { runGit, toSecretSettings } from "./git/run-git.ts";

const FETCH_LIMIT_MS = 10 * 60_000;
/** Of one question with all its pages: a host that takes it and says nothing is away. */
const ANSWER_LIMIT_MS = 60_000;
const PAGE = 100;
/** The API takes no longer ones. */
const DESCRIPTION_CHARACTERS = 140;

export interface GitHubOptions {
  readonly apiUrl: string;
  /** Where repositories are cloned from. */
  readonly webUrl: string;
  /** Used where neither the person nor the project has one. */
  readonly token: string | undefined;
  readonly root: string;
}

interface Place {
  readonly owner: string;
  readonly repo: string;
}

const toStatus = (error: unknown): number | undefined => (error instanceof RequestError ? error.status : undefined);

/** What it asks to wait: by itself, or until its window opens again. */
function toPause(error: RequestError): number | undefined {
  const headers = error.response?.headers ?? {};
  const after = Number(headers["retry-after"]);
  if (headers["retry-after"] !== undefined && Number.isFinite(after)) return after;
  const reset = Number(headers["x-ratelimit-reset"]);
  if (headers["x-ratelimit-remaining"] === "0" && Number.isFinite(reset))
    return Math.max(0, Math.ceil(reset - Date.now() / 1_000));
  return undefined;
}

/** The answer's own words; the request's headers, which hold the token, are never told. */
function toFailure(error: unknown, what: string): AppError {
  if (error instanceof AppError) return error;
  // An answer that never came is made into a 500 by the client.
  if (!(error instanceof RequestError) || error.response === undefined)
    return new AppError("git.unavailable", `${what}: GitHub does not answer`, { cause: error });
  const { status } = error;
  const said = `${what}: GitHub says ${status}`;
  const pause = toPause(error);
  const isLimited = status === 429 || (status === 403 && pause !== undefined);
  if (isLimited || status >= 500)
    return new AppError("git.unavailable", said, pause === undefined ? {} : { retryAfterSeconds: pause });
  if (status === 401) return new AppError("git.refused", `${said}; the token is not valid`);
  if (status === 403) return new AppError("git.refused", `${said}; the token may not do this`);
  if (status === 404) return new AppError("git.refused", `${said}; there is no such repository for this token`);
  if (status === 405 || status === 409) return new AppError("git.conflict", said);
  return new AppError("git.refused", said);
}

interface RawPull {
  readonly number: number;
  readonly title: string;
  readonly body: string | null;
  readonly state: string;
  readonly html_url: string;
  readonly merged_at: string | null;
  readonly merge_commit_sha: string | null;
  readonly mergeable?: boolean | null;
  readonly head: { readonly ref: string; readonly sha: string };
  readonly base: { readonly ref: string };
}

function toPull(pull: RawPull): HostPullRequest {
  const state = pull.merged_at !== null ? "merged" : pull.state === "open" ? "open" : "closed";
  return {
    number: pull.number,
    title: pull.title,
    body: pull.body ?? "",
    head: pull.head.ref,
    base: pull.base.ref,
    state,
    url: pull.html_url,
    headCommit: pull.head.sha,
    isMergeable: state === "open" ? (pull.mergeable ?? null) : null,
    // Until it is merged this is a commit of GitHub's own trial.
    mergeCommit: state === "merged" ? pull.merge_commit_sha : null,
  };
}

export function openGitHub(options: GitHubOptions, objects: GitObjects): GitHost {
  const { root } = options;
  const queues = new Map<string, Promise<unknown>>();

  const hold = <T>(repo: HostedRepository, work: () => Promise<T>): Promise<T> => {
    const before = queues.get(repo.projectId) ?? Promise.resolve();
    // Expected: whoever was first may have failed; that is told to it, not to the next.
    const mine = before.catch(() => undefined).then(work);
    queues.set(repo.projectId, mine);
    return mine;
  };

  const toPlace = (repo: HostedRepository): Place => {
    if (repo.owner === null || repo.name === null)
      throw new AppError("git.refused", "the project names no repository of GitHub");
    return { owner: repo.owner, repo: repo.name };
  };
  const toToken = (repo: HostedRepository): string => {
    const token = repo.token ?? options.token;
    if (token === undefined)
      throw new AppError("git.refused", "there is no GitHub token: give the project one, or set GITHUB_TOKEN");
    return token;
  };
  const connect = (repo: HostedRepository, signal: AbortSignal): Octokit =>
    new Octokit({
      auth: toToken(repo),
      baseUrl: options.apiUrl,
      userAgent: "drover",
      request: { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)]) },
      // Who calls decides what is tried again, and when.
      retry: { enabled: false },
      throttle: { enabled: false },
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    });

  /** `answers`: statuses that are no failure here. */
  const ask = async <T>(
    what: string,
    work: () => Promise<T>,
    answers: Readonly<Record<number, T>> = {},
  ): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const status = toStatus(error);
      if (status !== undefined && Object.hasOwn(answers, status)) return answers[status] as T;
      throw toFailure(error, what);
    }
  };

  const git = (
    repo: HostedRepository,
    args: readonly string[],
    signal: AbortSignal,
    answers: readonly number[] = [],
  ) => {
    const basic = Buffer.from(`x-access-token:${toToken(repo)}`).toString("base64");
    const env = toSecretSettings({ [`http.${options.webUrl}/.extraHeader`]: `Authorization: Basic ${basic}` });
    const run = {
      args: ["--git-dir", toGitDir(root, repo.projectId), ...args],
      env,
      timeoutMs: FETCH_LIMIT_MS,
      answers,
    };
    return runGit(run, signal);
  };
  const toUrl = (repo: HostedRepository) => {
    const place = toPlace(repo);
    return `${options.webUrl}/${place.owner}/${place.repo}.git`;
  };

  const fetchAll = async (repo: HostedRepository, defaultBranch: string, signal: AbortSignal): Promise<void> => {
    const dir = toGitDir(root, repo.projectId);
    const isThere = await stat(join(dir, "HEAD")).then(
      () => true,
      // Expected: the first time, when there is none.
      () => false,
    );
    if (!isThere) {
      await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
      await runGit({ args: ["init", "--quiet", "--bare", "--template=", "--initial-branch=main", dir] }, signal);
    }
    const refs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
    const how = ["--quiet", "--prune", "--force", "--no-auto-gc", "--no-write-fetch-head"];
    await git(repo, ["fetch", ...how, "--", toUrl(repo), ...refs], signal);
    await runGit({ args: ["--git-dir", dir, "symbolic-ref", "HEAD", `refs/heads/${defaultBranch}`] }, signal);
  };

  const ensureRepository = async (repo: HostedRepository, signal: AbortSignal) => {
    const octokit = connect(repo, signal);
    const { data } = await ask("the repository", () => octokit.rest.repos.get({ ...toPlace(repo) }));
    await hold(repo, () => fetchAll(repo, data.default_branch, signal));
    return { defaultBranch: data.default_branch };
  };

  const findBranch = async (repo: HostedRepository, name: string, signal: AbortSignal): Promise<Branch | undefined> => {
    const octokit = connect(repo, signal);
    const wish = { ...toPlace(repo), ref: `heads/${name}` };
    const commit = await ask(
      "the branch",
      async (): Promise<string | undefined> => (await octokit.rest.git.getRef(wish)).data.object.sha,
      { 404: undefined },
    );
    return commit === undefined ? undefined : { name, commit };
  };

  /** Only from `from` on: what GitHub has got meanwhile is never overwritten. */
  const push = async (
    repo: HostedRepository,
    name: string,
    from: string | null,
    to: string | null,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const ref = `refs/heads/${name}`;
    const lease = `--force-with-lease=${ref}:${from ?? ""}`;
    const args = ["push", "--porcelain", "--quiet", lease, "--", toUrl(repo), `${to ?? ""}:${ref}`];
    const { code, stdout, stderr } = await git(repo, args, signal, [1, 128]);
    if (code === 0) return true;
    if (/^!/m.test(stdout.toString("utf8"))) return false;
    throw new AppError(
      "git.unavailable",
      `GitHub has not taken the push: ${stderr.split("\n")[0] ?? ""}`.slice(0, 200),
    );
  };

  const findPull = async (repo: HostedRepository, head: string, base: string, signal: AbortSignal) => {
    const octokit = connect(repo, signal);
    const place = toPlace(repo);
    const wish = { ...place, state: "open" as const, head: `${place.owner}:${head}`, base, per_page: PAGE };
    const { data } = await ask("pull requests", () => octokit.rest.pulls.list(wish));
    return data.find((one) => one.head.ref === head && one.base.ref === base);
  };

  const loadPull = async (
    repo: HostedRepository,
    number: number,
    signal: AbortSignal,
  ): Promise<HostPullRequest | undefined> => {
    const octokit = connect(repo, signal);
    const wish = { ...toPlace(repo), pull_number: number };
    return ask(
      "the pull request",
      async (): Promise<HostPullRequest | undefined> => toPull((await octokit.rest.pulls.get(wish)).data),
      { 404: undefined },
    );
  };

  const listStatuses = async (repo: HostedRepository, commit: string, signal: AbortSignal) => {
    const octokit = connect(repo, signal);
    const found: CommitStatus[] = [];
    for (let page = 1; ; page += 1) {
      const wish = { ...toPlace(repo), ref: commit, per_page: PAGE, page };
      const { data } = await ask("statuses", () => octokit.rest.repos.getCombinedStatusForRef(wish));
      for (const one of data.statuses)
        found.push({
          context: one.context,
          state: one.state as CommitStatus["state"],
          description: one.description ?? "",
          url: one.target_url,
        });
      if (data.statuses.length === 0 || found.length >= data.total_count) return found;
    }
  };

  return {
    kind: "github",
    hold,
    ensureRepository,
    listBranches: async (repo, signal) => {
      const octokit = connect(repo, signal);
      const wish = { ...toPlace(repo), per_page: PAGE };
      const found = await ask("branches", () => octokit.paginate(octokit.rest.repos.listBranches, wish));
      return found.map((one) => ({ name: one.name, commit: one.commit.sha }));
    },
    ensureBranch: async (repo, name, fromCommit, signal) => {
      const known = await findBranch(repo, name, signal);
      if (known === undefined) {
        const octokit = connect(repo, signal);
        const wish = { ...toPlace(repo), ref: `refs/heads/${name}`, sha: fromCommit };
        // 422: somebody else was faster, or it cannot be; looking again tells which.
        await ask<unknown>("a branch", () => octokit.rest.git.createRef(wish), { 422: undefined });
      }
      const branch = known ?? (await findBranch(repo, name, signal));
      if (branch === undefined) throw new AppError("git.refused", `GitHub does not make the branch ${name}`);
      await ensureRepository(repo, signal);
      return branch;
    },
    ensureBranchGone: async (repo, name, signal) => {
      const octokit = connect(repo, signal);
      const wish = { ...toPlace(repo), ref: `heads/${name}` };
      await ask<unknown>("a branch", () => octokit.rest.git.deleteRef(wish), { 404: undefined, 422: undefined });
      await ensureRepository(repo, signal);
    },
    ensureAdvanced: async (repo, name, from, to, signal) => {
      if ((await findBranch(repo, name, signal))?.commit !== to) {
        const { behindBy } = await objects.compare(repo.projectId, from, to, signal);
        if (behindBy > 0) throw new AppError("git.conflict", `${name} would lose commits`);
        if (!(await push(repo, name, from, to, signal)))
          throw new AppError("git.conflict", `${name} has moved meanwhile`);
      }
      await ensureRepository(repo, signal);
    },
    ensurePublished: async (repo, name, from, to, signal) => {
      const isTaken = await push(repo, name, from, to, signal).catch(async (error: unknown) => {
        await objects.moveRefs(repo.projectId, [{ ref: `refs/heads/${name}`, from: to, to: from }], signal);
        throw error;
      });
      if (isTaken) return;
      await objects.moveRefs(repo.projectId, [{ ref: `refs/heads/${name}`, from: to, to: from }], signal);
      throw new AppError("git.refused", "GitHub has refused the push; fetch and try again");
    },
    ensurePullRequest: async (repo, spec, signal) => {
      const known = await findPull(repo, spec.head, spec.base, signal);
      if (known !== undefined) return toPull(known);
      const octokit = connect(repo, signal);
      // 422: somebody else was faster, or there is nothing to merge; looking again tells which.
      const made = await ask(
        "a pull request",
        async (): Promise<RawPull | undefined> => (await octokit.rest.pulls.create({ ...toPlace(repo), ...spec })).data,
        { 422: undefined },
      );
      const pull = made ?? (await findPull(repo, spec.head, spec.base, signal));
      if (pull === undefined) throw new AppError("git.refused", `GitHub opens no pull request for ${spec.head}`);
      return toPull(pull);
    },
    loadPullRequest: loadPull,
    ensureMerged: async (repo, number, spec, signal) => {
      const pull = await loadPull(repo, number, signal);
      if (pull === undefined) throw new AppError("pull_request.not_found");
      if (pull.state === "merged" && pull.mergeCommit !== null) return { commit: pull.mergeCommit };
      if (pull.state === "closed") throw new AppError("git.conflict", `pull request ${number} is closed`);
      const octokit = connect(repo, signal);
      const wish = {
        ...toPlace(repo),
        pull_number: number,
        merge_method: spec.method,
        sha: spec.headCommit,
        // By rebase there is no commit that could have a title.
        ...(spec.method === "rebase" ? {} : { commit_title: spec.title }),
      };
      const { data } = await ask("the merge", () => octokit.rest.pulls.merge(wish));
      return { commit: data.sha };
    },
    ensureClosed: async (repo, number, signal) => {
      const pull = await loadPull(repo, number, signal);
      if (pull?.state !== "open") return;
      const octokit = connect(repo, signal);
      const wish = { ...toPlace(repo), pull_number: number, state: "closed" as const };
      await ask("the pull request", () => octokit.rest.pulls.update(wish));
    },
    ensureStatus: async (repo, commit, status, signal) => {
      const description = status.description.slice(0, DESCRIPTION_CHARACTERS);
      const known = (await listStatuses(repo, commit, signal)).find((one) => one.context === status.context);
      if (known?.state === status.state && known.description === description && known.url === status.url) return;
      const octokit = connect(repo, signal);
      const { context, state } = status;
      const target = status.url === null ? {} : { target_url: status.url };
      const wish = { ...toPlace(repo), sha: commit, context, state, description, ...target };
      await ask("a status", () => octokit.rest.repos.createCommitStatus(wish));
    },
    listStatuses,
  };
}
