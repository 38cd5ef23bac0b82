-- Pull requests, whichever host they live at, and the merges of parallel work into a ticket's branch.

create table pull_requests (
  id text primary key,
  project_id text not null references projects (id),
  ticket_id text,
  number integer not null,
  title text not null,
  body text not null,
  head_branch text not null,
  base_branch text not null,
  state text not null check (state in ('open', 'merged', 'closed')),
  url text,
  head_commit text,
  merge_commit text,
  created_at timestamptz not null default now(),
  merged_at timestamptz,
  closed_at timestamptz,
  unique (project_id, number)
);
create index pull_requests_by_ticket on pull_requests (ticket_id) where ticket_id is not null;
create index pull_requests_by_age on pull_requests (created_at desc, id desc);
create index pull_requests_open on pull_requests (id) where state = 'open';

create table merge_attempts (
  id text primary key,
  project_id text not null references projects (id),
  ticket_id text not null,
  task_id text,
  source_task_ids jsonb not null,
  target_branch text not null,
  status text not null,
  merge_order jsonb not null default '[]',
  rounds jsonb not null default '[]',
  conflicts jsonb not null default '[]',
  total_conflicts integer not null default 0,
  error_message text,
  created_at timestamptz not null default now(),
  completed_at timestamptz
);
create index merge_attempts_by_ticket on merge_attempts (ticket_id, created_at desc);
create index merge_attempts_by_age on merge_attempts (created_at desc, id desc);
