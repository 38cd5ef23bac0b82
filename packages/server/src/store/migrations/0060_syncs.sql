-- Points that several tasks reach.

create table task_syncs (
  id text primary key,
  project_id text not null references projects (id),
  task_ids text[] not null,
  required_count integer not null,
  status text not null default 'waiting',
  deadline_at timestamptz,
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index task_syncs_waiting on task_syncs (id) where status = 'waiting';
