-- What was found out about stuck tickets: the limits count these rows, so that they hold over restarts.

create table diagnostic_runs (
  id text primary key,
  position bigint generated always as identity,
  ticket_id text not null references tickets (id),
  project_id text not null references projects (id),
  trigger text not null check (trigger in ('automatic', 'manual')),
  total_tasks integer not null,
  done_tasks integer not null,
  failed_tasks integer not null,
  idle_seconds double precision,
  diagnosis jsonb not null,
  task_id text not null references tasks (id),
  created_at timestamptz not null default now()
);
create index diagnostic_runs_by_ticket on diagnostic_runs (ticket_id, position);
create index diagnostic_runs_by_project on diagnostic_runs (project_id, position);
