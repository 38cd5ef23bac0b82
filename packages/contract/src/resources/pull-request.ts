/** Branches, pull requests and merges of a project's repository. */
import { z } from "zod";
import { MergeAttemptId, ProjectId, PullRequestId } from "../ids.ts";
import { Timestamp } from "../time.ts";
import { HeaderWord } from "./header-word.ts";

/** Looked at by Git's rules later; here only what could be no name at all. */
export const BranchName = z
  .string()
  .min(1)
  .max(250)
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_./+@=#-]*$/, "is not the name of a branch");

/** Tickets and tasks are named by UUIDs. */
const WorkId = z.uuid();

export const PullRequestState = z.enum(["open", "merged", "closed"]);
export type PullRequestState = z.infer<typeof PullRequestState>;

export const MergeMethod = z.enum(["squash", "merge", "rebase"]);
export type MergeMethod = z.infer<typeof MergeMethod>;

export const PullRequest = z.object({
  id: PullRequestId,
  project_id: ProjectId,
  ticket_id: z.string().nullable(),
  number: z.int().positive(),
  title: z.string(),
  body: z.string(),
  head_branch: z.string(),
  base_branch: z.string(),
  state: PullRequestState,
  url: z.string().nullable(),
  head_commit: z.string().nullable(),
  merge_commit: z.string().nullable(),
  created_at: Timestamp,
  merged_at: Timestamp.nullable(),
  closed_at: Timestamp.nullable(),
});
export type PullRequest = z.infer<typeof PullRequest>;

export const GitCommit = z.object({ id: z.string(), author: z.string(), at: Timestamp, subject: z.string() });

const GitFile = z.object({
  path: z.string(),
  old_path: z.string().nullable(),
  change_type: z.enum(["created", "modified", "deleted", "renamed"]),
  lines_added: z.int(),
  lines_removed: z.int(),
  is_binary: z.boolean(),
});

const Check = z.object({
  context: z.string(),
  state: z.enum(["pending", "success", "failure", "error"]),
  description: z.string(),
  url: z.string().nullable(),
});

/** `mergeable` is null while the host has not found out, and when there is nothing left to merge. */
export const PullRequestDetail = PullRequest.extend({
  mergeable: z.boolean().nullable(),
  conflicts: z.array(z.object({ path: z.string(), kind: z.string() })),
  checks: z.array(Check),
  commits: z.array(GitCommit),
  files: z.array(GitFile),
  diff: z.string(),
  is_diff_cut: z.boolean(),
});
export type PullRequestDetail = z.infer<typeof PullRequestDetail>;

export const NewPullRequest = z.strictObject({
  project_id: ProjectId,
  title: z.string().trim().min(1).max(200),
  body: z.string().max(10_000).default(""),
  head_branch: BranchName,
  base_branch: BranchName.optional(),
  ticket_id: WorkId.optional(),
});
export type NewPullRequest = z.infer<typeof NewPullRequest>;

export const MergeRequest = z.strictObject({
  method: MergeMethod.default("squash"),
  delete_branch: z.boolean().default(true),
});

export const MergeAttemptStatus = z.enum([
  "in_progress",
  /** An agent merges what conflicts. */
  "resolving",
  "resolved",
  /** The tests run on the merged branches, which are kept when they pass. */
  "testing",
  "completed",
  "conflict",
  "tests_failed",
  "manual",
  "failed",
]);
export type MergeAttemptStatus = z.infer<typeof MergeAttemptStatus>;

/** One convergence: which branches were merged into the ticket's, in which order, and what stood in the way. */
export const MergeAttempt = z.object({
  id: MergeAttemptId,
  project_id: ProjectId,
  ticket_id: z.string(),
  task_id: z.string().nullable(),
  source_task_ids: z.array(z.string()),
  target_branch: z.string(),
  status: MergeAttemptStatus,
  merge_order: z.array(z.string()),
  /** Every trial: before each merge the remaining branches are tried again. */
  rounds: z.array(
    z.object({
      scores: z.record(z.string(), z.object({ count: z.int().nullable(), files: z.array(z.string()) })),
      merged: z.string().nullable(),
      commit: z.string().nullable(),
    }),
  ),
  conflicts: z.array(
    z.object({
      task_id: z.string(),
      branch: z.string(),
      files: z.array(z.object({ path: z.string(), kind: z.string() })),
    }),
  ),
  total_conflicts: z.int(),
  error_message: z.string().nullable(),
  /** The task that resolved the conflicts or ran the tests; its attempts, sandboxes and costs are found there. */
  merge_task_id: z.string().nullable(),
  /** Where the branch stood, and what was merged there. */
  from_commit: z.string().nullable(),
  result_commit: z.string().nullable(),
  created_at: Timestamp,
  completed_at: Timestamp.nullable(),
});
export type MergeAttempt = z.infer<typeof MergeAttempt>;

export const ProjectGit = z.object({
  project_id: ProjectId,
  host: z.enum(["builtin", "github"]),
  owner: z.string().nullable(),
  name: z.string().nullable(),
  has_token: z.boolean(),
  has_webhook_secret: z.boolean(),
  default_branch: z.string(),
  /** Below the server's address; a Git client's password there is a token. */
  clone_path: z.string(),
  branches: z.array(z.object({ name: z.string(), commit: z.string() })),
});
export type ProjectGit = z.infer<typeof ProjectGit>;

export const GitHubName = z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/);

/** A secret that is null is forgotten; one that is not named stays. */
export const ProjectGitChange = z.strictObject({
  host: z.enum(["builtin", "github"]).optional(),
  owner: GitHubName.optional(),
  name: GitHubName.optional(),
  token: HeaderWord.max(500).nullable().optional(),
  webhook_secret: z.string().min(8).max(500).nullable().optional(),
});
export type ProjectGitChange = z.infer<typeof ProjectGitChange>;

export const PersonGitToken = z.strictObject({ token: HeaderWord.max(500).nullable() });

/** Older programs name the repository, and whose token is used: taken, and not believed. Both follow from project and credential. */
const RepositoryClaims = {
  repo_owner: z.string().max(255).optional(),
  repo_name: z.string().max(255).optional(),
  user_id: z.string().max(255).optional(),
};

const Ticket = {
  ticket_id: WorkId,
  ticket_title: z.string().min(1).max(500).optional(),
  /** Needed for a ticket that Drover does not know. */
  project_id: ProjectId.optional(),
  ...RepositoryClaims,
};

export const StartBranch = z.strictObject({
  ...Ticket,
  /** Without it the ticket's own, else what its priority and title tell; of a ticket that Drover does not know, a feature. */
  ticket_type: z.string().max(50).optional(),
  priority: z.string().max(20).optional(),
});
export const StartedBranch = z.object({ success: z.literal(true), branch_name: z.string(), sha: z.string() });

export const FinishBranch = z.strictObject({
  ...Ticket,
  branch_name: BranchName.optional(),
  pr_body: z.string().max(10_000).optional(),
});
export const FinishedBranch = z.object({
  success: z.literal(true),
  pull_id: PullRequestId,
  pr_number: z.int(),
  pr_url: z.string().nullable(),
});

/** As the store keeps numbers of pull requests. */
const NUMBER_LIMIT = 2_147_483_647;
export const MergeBranch = z.strictObject({
  ...Ticket,
  pr_number: z.int().positive().max(NUMBER_LIMIT),
  delete_branch_after: z.boolean().default(true),
  merge_method: MergeMethod.default("squash"),
});
export const MergedBranch = z.object({
  success: z.literal(true),
  merge_sha: z.string(),
  has_conflicts: z.literal(false),
});

export const BranchStatusRequest = z.strictObject({
  project_id: ProjectId.optional(),
  branch_name: BranchName,
  ...RepositoryClaims,
});
export const BranchStatus = z.object({
  success: z.literal(true),
  status: z.enum(["ahead", "behind", "diverged", "identical"]),
  ahead_by: z.int(),
  behind_by: z.int(),
  total_commits: z.int(),
  files_changed: z.int(),
  has_conflicts: z.boolean(),
});

/** What a sandbox has done at the Git host. */
export const SandboxGit = z.object({
  branch: z.string().nullable(),
  base_branch: z.string().nullable(),
  head_commit: z.string().nullable(),
  ahead_by: z.int(),
  behind_by: z.int(),
  files_changed: z.int(),
  commits: z.array(GitCommit),
  pull_request: PullRequest.nullable(),
});
