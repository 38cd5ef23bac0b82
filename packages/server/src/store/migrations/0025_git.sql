-- Where each project's repository lives, the branches made for its work, and what was pushed to them.
-- Tickets and tasks are named by id only.

create table project_git (
  project_id text primary key references projects (id),
  host text not null default 'builtin' check (host in ('builtin', 'github')),
  owner text,
  name text,
  sealed_token bytea,
  sealed_webhook_secret bytea,
  created_at timestamptz not null default now(),
  check (host <> 'github' or (owner is not null and name is not null))
);

create table git_branches (
  project_id text not null references projects (id),
  name text not null,
  ticket_id text,
  task_id text,
  base text not null,
  base_commit text not null,
  created_at timestamptz not null default now(),
  primary key (project_id, name)
);
create unique index git_branches_by_ticket on git_branches (ticket_id) where task_id is null and ticket_id is not null;
create unique index git_branches_by_task on git_branches (task_id) where task_id is not null;

-- `sandbox_id` and `token_id` are null for what the server itself has put there, such as a merge.
create table git_pushes (
  id bigint generated always as identity primary key,
  project_id text not null references projects (id),
  branch text not null,
  sandbox_id text,
  token_id text,
  from_commit text,
  to_commit text,
  at timestamptz not null default now()
);
create index git_pushes_by_branch on git_pushes (project_id, branch, id);
