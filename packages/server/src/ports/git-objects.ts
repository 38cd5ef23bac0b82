/** The bare repositories on this machine: what was pushed, compared, merged and written without ever being checked out. */
import type { Readable } from "node:stream";

/** The local repository of one project, by its directory's name. */
export type RepositoryName = string;

export interface Commit {
  readonly id: string;
  readonly author: string;
  readonly at: string;
  readonly subject: string;
}

export interface Comparison {
  readonly status: "ahead" | "behind" | "diverged" | "identical";
  readonly aheadBy: number;
  readonly behindBy: number;
  readonly filesChanged: number;
  /** Of the head and not of the base, newest first, at most 250. */
  readonly commits: readonly Commit[];
}

export interface ChangedFile {
  readonly path: string;
  readonly oldPath: string | null;
  readonly change: "created" | "modified" | "deleted" | "renamed";
  readonly linesAdded: number;
  readonly linesRemoved: number;
  readonly isBinary: boolean;
}

export interface Conflict {
  readonly path: string;
  /** `contents`, `modify/delete`, `binary`, ... as Git names it. */
  readonly kind: string;
}

export interface MergeTrial {
  /** The merged tree; with conflicts it holds markers and is of no use. */
  readonly tree: string;
  readonly conflicts: readonly Conflict[];
}

export interface CommitDraft {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly author: string;
}

export interface RefChange {
  readonly ref: string;
  /** `null`: there is none before, or none after. */
  readonly from: string | null;
  readonly to: string | null;
}

export interface PackService {
  readonly service: "git-upload-pack" | "git-receive-pack";
  /** Lists the refs instead of exchanging objects. */
  readonly isAdvertisement: boolean;
  readonly isRewriteAllowed: boolean;
  readonly maxInputBytes: number;
}

/** Contract: nothing that a repository contains is run: no checkout, hooks, filters or drivers. Refs below `refs/drover` are seen by
 *  no client. `moveRefs` changes all or none, and only if each is still where it was, else AppError "git.conflict". Other failures
 *  are AppError "git.unavailable". */
export interface GitObjects {
  resolve(repository: RepositoryName, revision: string, signal: AbortSignal): Promise<string | undefined>;
  compare(repository: RepositoryName, base: string, head: string, signal: AbortSignal): Promise<Comparison>;
  /** From where the two parted, as `git apply` reads it; cut at `limitBytes`. */
  diff(
    repository: RepositoryName,
    base: string,
    head: string,
    limitBytes: number,
    signal: AbortSignal,
  ): Promise<{ readonly patch: string; readonly isCut: boolean; readonly files: readonly ChangedFile[] }>;
  tryMerge(repository: RepositoryName, ours: string, theirs: string, signal: AbortSignal): Promise<MergeTrial>;
  writeCommit(repository: RepositoryName, draft: CommitDraft, signal: AbortSignal): Promise<string>;
  moveRefs(repository: RepositoryName, changes: readonly RefChange[], signal: AbortSignal): Promise<void>;
  /** Speaks Git's own protocol with a client; the stream ends with the process. */
  serve(repository: RepositoryName, service: PackService, input: Readable, signal: AbortSignal): Readable;
  /** One file with all branches and tags. */
  bundle(repository: RepositoryName, target: string, signal: AbortSignal): Promise<void>;
}
