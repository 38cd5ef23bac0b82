-- Verdicts of the judge and of the conductor.

create table guardian_analyses (
  id text primary key,
  position bigint generated always as identity,
  sandbox_id text not null references sandboxes (id),
  project_id text not null references projects (id),
  model text not null,
  -- Everything that the judge was shown stands at or before this.
  cursor_seq bigint not null,
  verdict jsonb not null,
  created_at timestamptz not null default now()
);
create index guardian_analyses_by_sandbox on guardian_analyses (sandbox_id, position);
create index guardian_analyses_by_project on guardian_analyses (project_id, position);

-- Also judgements that came to nothing: the judge is asked again only after a while.
alter table supervision add column judged_at timestamptz, add column judged_seq bigint not null default 0;

create table conductor_analyses (
  id text primary key,
  position bigint generated always as identity,
  -- Null: over all projects.
  project_id text references projects (id),
  coherence_score double precision,
  system_status text not null,
  num_agents integer not null,
  duplicates jsonb not null,
  recommendations jsonb not null,
  created_at timestamptz not null default now()
);
create index conductor_analyses_by_project on conductor_analyses (project_id, position);
