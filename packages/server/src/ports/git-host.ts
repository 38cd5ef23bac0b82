/** Where a project's repository, its branches and its pull requests live. */
import type { ProjectId } from "@drover/contract";

export interface HostedRepository {
  readonly projectId: ProjectId;
  /** What a new repository starts from: an address, or nothing. */
  readonly importFrom: string | null;
  /** Of a host elsewhere. */
  readonly owner: string | null;
  readonly name: string | null;
  /** The credential that acts; never handed on. */
  readonly token: string | null;
}

export interface Branch {
  readonly name: string;
  readonly commit: string;
}

export interface PullRequestSpec {
  readonly title: string;
  readonly body: string;
  readonly head: string;
  readonly base: string;
}

export interface HostPullRequest extends PullRequestSpec {
  readonly number: number;
  readonly state: "open" | "merged" | "closed";
  /** `null` when the host has no page of its own. */
  readonly url: string | null;
  readonly headCommit: string | null;
  /** Whether it merges without conflicts; `null` while the host has not found out. */
  readonly isMergeable: boolean | null;
  readonly mergeCommit: string | null;
}

export interface MergeSpec {
  readonly method: "squash" | "merge" | "rebase";
  readonly title: string;
  /** Merged only while the head is this commit. */
  readonly headCommit: string;
}

export interface CommitStatus {
  readonly context: string;
  readonly state: "pending" | "success" | "failure" | "error";
  readonly description: string;
  readonly url: string | null;
}

/** Contract: every write is `ensure*`: done twice it equals done once, and what a racing caller has made is found. Lists are whole,
 *  however many pages the host makes of them. Nothing is ever forced: a merge with conflicts, or of a head that has moved, is AppError
 *  "git.conflict". "git.refused" is a refusal that a retry does not help; "git.unavailable" one that it may, after what the host asks
 *  to wait. No credential is in a failure's text. After `ensureRepository` the local repository has what the host has. */
export interface GitHost {
  readonly kind: "builtin" | "github";
  ensureRepository(repo: HostedRepository, signal: AbortSignal): Promise<{ readonly defaultBranch: string }>;
  /** While `work` goes on, nothing else brings the local repository up to date. Not to be nested. */
  hold<T>(repo: HostedRepository, work: () => Promise<T>): Promise<T>;
  listBranches(repo: HostedRepository, signal: AbortSignal): Promise<readonly Branch[]>;
  /** A branch of this name that exists is found, wherever it points. */
  ensureBranch(repo: HostedRepository, name: string, fromCommit: string, signal: AbortSignal): Promise<Branch>;
  ensureBranchGone(repo: HostedRepository, name: string, signal: AbortSignal): Promise<void>;
  /** Publishes commits of the local repository: the branch goes on from `from`, or "git.conflict". */
  ensureAdvanced(repo: HostedRepository, name: string, from: string, to: string, signal: AbortSignal): Promise<void>;
  /** After a client's push has changed the local branch: brings it to the host, or takes it back and rejects. */
  ensurePublished(
    repo: HostedRepository,
    name: string,
    from: string | null,
    to: string | null,
    signal: AbortSignal,
  ): Promise<void>;
  ensurePullRequest(repo: HostedRepository, spec: PullRequestSpec, signal: AbortSignal): Promise<HostPullRequest>;
  loadPullRequest(repo: HostedRepository, number: number, signal: AbortSignal): Promise<HostPullRequest | undefined>;
  ensureMerged(
    repo: HostedRepository,
    number: number,
    spec: MergeSpec,
    signal: AbortSignal,
  ): Promise<{ readonly commit: string }>;
  ensureClosed(repo: HostedRepository, number: number, signal: AbortSignal): Promise<void>;
  ensureStatus(repo: HostedRepository, commit: string, status: CommitStatus, signal: AbortSignal): Promise<void>;
  listStatuses(repo: HostedRepository, commit: string, signal: AbortSignal): Promise<readonly CommitStatus[]>;
}
