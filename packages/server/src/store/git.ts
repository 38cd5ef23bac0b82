/** Projects' Git hosts, branches made for work, and pushes. */
import { ProjectId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { sql } from "./sql.ts";

const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;
const SAMPLE_COMMIT = "0".repeat(40);

const ProjectGitRow = z.object({
  project_id: ProjectId,
  host: z.enum(["builtin", "github"]),
  owner: z.string().nullable(),
  name: z.string().nullable(),
  sealed_token: z.instanceof(Uint8Array).nullable(),
  sealed_webhook_secret: z.instanceof(Uint8Array).nullable(),
});
export type ProjectGitRow = z.infer<typeof ProjectGitRow>;

const columns = sql`project_id, host, owner, name, sealed_token, sealed_webhook_secret`;

export const loadProjectGit = query(
  "project_git.load",
  ProjectGitRow,
  [SAMPLE_PROJECT],
  (id: ProjectId) => sql`select ${columns} from project_git where project_id = ${id}`,
);

/** Nothing happens when the project has a host already. */
export const insertProjectGit = command(
  "project_git.insert",
  [SAMPLE_PROJECT],
  (id: ProjectId) =>
    sql`insert into project_git (project_id) select id from projects where id = ${id} on conflict do nothing`,
);

export interface PushDraft {
  readonly project_id: ProjectId;
  readonly branch: string;
  readonly sandbox_id: string | null;
  readonly token_id: string | null;
  readonly from_commit: string | null;
  readonly to_commit: string | null;
}

export const insertPush = command(
  "git_pushes.insert",
  [
    {
      project_id: SAMPLE_PROJECT,
      branch: "a",
      sandbox_id: null,
      token_id: null,
      from_commit: null,
      to_commit: SAMPLE_COMMIT,
    },
  ],
  (push: PushDraft) => sql`
  insert into git_pushes (project_id, branch, sandbox_id, token_id, from_commit, to_commit)
  select id, ${push.branch}, ${push.sandbox_id}, ${push.token_id}, ${push.from_commit}, ${push.to_commit}
  from projects where id = ${push.project_id}`,
);

/** How often somebody else than this sandbox has put something on the branch. */
export const countForeignPushes = query(
  "git_pushes.count_foreign",
  z.object({ count: z.number() }),
  [SAMPLE_PROJECT, "a", "drover-00000000-000000"],
  (projectId: ProjectId, branch: string, sandboxId: string) => sql`
  select count(*)::int as count from git_pushes
  where project_id = ${projectId} and branch = ${branch} and sandbox_id is distinct from ${sandboxId}`,
);

/** Once it has one it keeps it. */
export const setSandboxBranch = command(
  "sandboxes.set_branch",
  ["drover-00000000-000000", "a"],
  (id: string, branch: string) => sql`update sandboxes set branch = ${branch} where id = ${id} and branch is null`,
);

/** Whether the project has a repository: one that it names, or one that something was done with, unless it does without. */
export const findRepository = query(
  "project_git.find",
  z.object({ is_there: z.boolean() }),
  [SAMPLE_PROJECT],
  (id: ProjectId) => sql`
  select coalesce((settings ->> 'branches_enabled')::boolean, true)
    and (repo is not null or exists (select 1 from project_git g where g.project_id = p.id)) as is_there
  from projects p where p.id = ${id}`,
);

const BranchRow = z.object({
  project_id: ProjectId,
  name: z.string(),
  ticket_id: z.string().nullable(),
  task_id: z.string().nullable(),
  base: z.string(),
  base_commit: z.string(),
});
export type BranchRow = z.infer<typeof BranchRow>;

const branchColumns = sql`project_id, name, ticket_id, task_id, base, base_commit`;

const SAMPLE_BRANCH: BranchRow = {
  project_id: SAMPLE_PROJECT,
  name: "a",
  ticket_id: "a",
  task_id: null,
  base: "main",
  base_commit: SAMPLE_COMMIT,
};

/** Nothing is returned when the name, the ticket or the task has one already. */
export const insertBranch = query(
  "git_branches.insert",
  BranchRow,
  [SAMPLE_BRANCH],
  (branch: BranchRow) => sql`
  insert into git_branches (project_id, name, ticket_id, task_id, base, base_commit)
  select id, ${branch.name}, ${branch.ticket_id}, ${branch.task_id}, ${branch.base}, ${branch.base_commit}
  from projects where id = ${branch.project_id}
  on conflict do nothing returning ${branchColumns}`,
);

export const findTicketBranch = query(
  "git_branches.find_ticket",
  BranchRow,
  ["a"],
  (ticketId: string) =>
    sql`select ${branchColumns} from git_branches where ticket_id = ${ticketId} and task_id is null`,
);

export const findTaskBranch = query(
  "git_branches.find_task",
  BranchRow,
  ["a"],
  (taskId: string) => sql`select ${branchColumns} from git_branches where task_id = ${taskId}`,
);

/** Where the work of a task lies that another ticket waits for: on its own branch, else on its ticket's. Of a task of this ticket only its own. */
export const findSourceBranch = query(
  "git_branches.find_source",
  BranchRow,
  ["a", "b"],
  (taskId: string, ticketId: string) => sql`
  select ${branchColumns} from git_branches b
  where b.task_id = ${taskId} or b.task_id is null
    and b.ticket_id = (select t.ticket_id from tasks t where t.id = ${taskId} and t.ticket_id <> ${ticketId})
  order by b.task_id nulls last limit 1`,
);

/** Those of its parallel tasks too. */
export const listTicketBranches = query(
  "git_branches.list_ticket",
  BranchRow,
  ["a"],
  (ticketId: string) =>
    sql`select ${branchColumns} from git_branches where ticket_id = ${ticketId} order by name limit 1000`,
);

export const listTakenBranches = query(
  "git_branches.list_taken",
  z.object({ name: z.string() }),
  [SAMPLE_PROJECT, "feature/a"],
  (projectId: ProjectId, start: string) => sql`
  select name from git_branches where project_id = ${projectId} and starts_with(name, ${start}) order by name limit 1000`,
);

export interface ProjectGitPatch {
  readonly host: "builtin" | "github";
  readonly owner: string | null;
  readonly name: string | null;
  /** Undefined: as it was. */
  readonly sealed_token: Uint8Array | null | undefined;
  readonly sealed_webhook_secret: Uint8Array | null | undefined;
}

export const updateProjectGit = query(
  "project_git.update",
  ProjectGitRow,
  [
    SAMPLE_PROJECT,
    { host: "github", owner: "a", name: "a", sealed_token: null, sealed_webhook_secret: new Uint8Array(1) },
  ],
  (id: ProjectId, patch: ProjectGitPatch) => sql`
  update project_git set host = ${patch.host}, owner = ${patch.owner}, name = ${patch.name},
    sealed_token = ${patch.sealed_token === undefined ? sql`sealed_token` : sql`${patch.sealed_token}::bytea`},
    sealed_webhook_secret = ${
      patch.sealed_webhook_secret === undefined
        ? sql`sealed_webhook_secret`
        : sql`${patch.sealed_webhook_secret}::bytea`
    }
  where project_id = ${id} returning ${columns}`,
);

export const findProjectByPlace = query(
  "project_git.find_place",
  ProjectGitRow,
  ["a", "a"],
  (owner: string, name: string) => sql`
  select ${columns} from project_git where host = 'github' and lower(owner) = lower(${owner}) and lower(name) = lower(${name})`,
);

/** Projects whose repository is this one of GitHub: lives there, else was taken from one of these addresses. */
export const listProjectsOfPlace = query(
  "project_git.list_of_place",
  z.object({ id: ProjectId }),
  ["a", "a", ["https://github.com/a/a"]],
  (owner: string, name: string, addresses: readonly string[]) => sql`
  select p.id from projects p left join project_git g on g.project_id = p.id
  where (g.host = 'github' and lower(g.owner) = lower(${owner}) and lower(g.name) = lower(${name}))
    or (g.host is distinct from 'github' and lower(regexp_replace(p.repo, '(\\.git)?/?$', '')) = any(${addresses}::text[]))
  order by g.host is not distinct from 'github' desc, p.id limit 100`,
);

const SAMPLE_TOKEN = "tok-000000000000";

export const loadPersonToken = query(
  "person_git_tokens.load",
  z.object({ sealed_token: z.instanceof(Uint8Array) }),
  [SAMPLE_TOKEN],
  (tokenId: string) => sql`select sealed_token from person_git_tokens where token_id = ${tokenId}`,
);

export const upsertPersonToken = command(
  "person_git_tokens.upsert",
  [SAMPLE_TOKEN, new Uint8Array(1)],
  (tokenId: string, sealed: Uint8Array) => sql`
  insert into person_git_tokens (token_id, sealed_token) select id, ${sealed} from tokens where id = ${tokenId}
  on conflict (token_id) do update set sealed_token = excluded.sealed_token`,
);

export const deletePersonToken = command(
  "person_git_tokens.delete",
  [SAMPLE_TOKEN],
  (tokenId: string) => sql`delete from person_git_tokens where token_id = ${tokenId}`,
);

export const findDelivery = query(
  "webhook_deliveries.find",
  z.object({ id: z.string() }),
  ["a"],
  (id: string) => sql`select id from webhook_deliveries where id = ${id}`,
);

export const insertDelivery = command(
  "webhook_deliveries.insert",
  ["a", "push"],
  (id: string, event: string) =>
    sql`insert into webhook_deliveries (id, event) values (${id}, ${event}) on conflict do nothing`,
);

/** GitHub does not send a delivery again after that long. */
export const deleteOldDeliveries = command(
  "webhook_deliveries.delete_old",
  [],
  () => sql`delete from webhook_deliveries where received_at < now() - interval '30 days'`,
);
