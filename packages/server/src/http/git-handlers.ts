/** Handlers of branches and pull requests. */
import { ensureTicketBranch, findTicketWork } from "../app/branch-workflow.ts";
import { checkRepository } from "../app/check-repository.ts";
import { createOnceDone } from "../app/create-once.ts";
import { changeProjectGit, keepPersonToken } from "../app/manage-project-git.ts";
import { pickProject } from "../app/manage-projects.ts";
import {
  closePullRequest,
  createPullRequest,
  ensureBranchPull,
  findTicketPull,
  mergePullRequest,
} from "../app/pull-requests.ts";
import {
  pageMergeAttempts,
  pagePulls,
  readBranchStatus,
  readProjectGit,
  readPull,
  readSandboxGit,
} from "../app/read-pulls.ts";
import { person, type Handlers } from "./context.ts";

type GitHandlers = Pick<
  Handlers,
  | "getProjectGit"
  | "changeProjectGit"
  | "keepGitHubToken"
  | "getSandboxGit"
  | "listPulls"
  | "createPull"
  | "getPull"
  | "mergePull"
  | "closePull"
  | "listMergeAttempts"
  | "startBranch"
  | "finishBranch"
  | "mergeBranch"
  | "branchStatus"
  | "checkRepository"
>;

export const gitHandlers: GitHandlers = {
  checkRepository: (context, { body }) => checkRepository(context.deps, person(context), body, context.signal),
  getProjectGit: (context, { params }) => readProjectGit(context.deps, params.project_id, context.signal),
  changeProjectGit: (context, { params, body }) =>
    changeProjectGit(context.deps, person(context), params.project_id, body, context.signal),
  keepGitHubToken: (context, { body }) => keepPersonToken(context.deps, person(context), body.token),
  getSandboxGit: (context, { params }) => readSandboxGit(context.deps, params.sandbox_id, context.signal),
  listPulls: (context, { query }) => pagePulls(context.deps, person(context), query),
  createPull: async (context, { body }) => {
    const projectId = await pickProject(context.deps, person(context), body.project_id);
    const { signal } = context;
    return createOnceDone(context.deps, context.requestKey, () =>
      createPullRequest(context.deps, person(context), projectId, body, signal),
    );
  },
  getPull: (context, { params }) => readPull(context.deps, params.pull_id, context.signal),
  mergePull: (context, { params, body }) =>
    mergePullRequest(context.deps, person(context), params.pull_id, body, context.signal),
  closePull: (context, { params }) => closePullRequest(context.deps, person(context), params.pull_id, context.signal),
  listMergeAttempts: (context, { query }) => pageMergeAttempts(context.deps, person(context), query),
  startBranch: async (context, { body }) => {
    const ticket = await findTicketWork(context.deps, person(context), body);
    const { signal } = context;
    return createOnceDone(context.deps, context.requestKey, async () => {
      const { name, commit } = await ensureTicketBranch(context.deps, ticket, signal, person(context));
      return { success: true as const, branch_name: name, sha: commit };
    });
  },
  finishBranch: async (context, { body }) => {
    const ticket = await findTicketWork(context.deps, person(context), body);
    const { signal } = context;
    return createOnceDone(context.deps, context.requestKey, async () => {
      const pull = await ensureBranchPull(
        context.deps,
        person(context),
        ticket,
        body.branch_name,
        body.pr_body,
        signal,
      );
      return { success: true as const, pull_id: pull.id, pr_number: pull.number, pr_url: pull.url };
    });
  },
  mergeBranch: async (context, { body }) => {
    const ticket = await findTicketWork(context.deps, person(context), body);
    const pull = await findTicketPull(context.deps, ticket, body.pr_number);
    const wish = { method: body.merge_method, delete_branch: body.delete_branch_after };
    const merged = await mergePullRequest(context.deps, person(context), pull.id, wish, context.signal);
    return { success: true, merge_sha: merged.merge_commit ?? "", has_conflicts: false };
  },
  branchStatus: async (context, { body }) => {
    const projectId = await pickProject(context.deps, person(context), body.project_id);
    return readBranchStatus(context.deps, projectId, body.branch_name, context.signal);
  },
};
