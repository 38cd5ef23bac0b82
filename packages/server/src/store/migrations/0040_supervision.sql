-- What supervision remembers of each run, and what it did about it.

create table supervision (
  sandbox_id text primary key references sandboxes (id),
  -- Everything up to here is folded into the two states below.
  cursor_seq bigint not null default 0,
  watch jsonb not null,
  signals jsonb not null,
  condition text,
  condition_since timestamptz,
  nudged_at timestamptz
);

create table interventions (
  id text primary key,
  position bigint generated always as identity,
  sandbox_id text not null references sandboxes (id),
  project_id text not null references projects (id),
  signal text not null,
  level text not null,
  rung text not null,
  mode text not null,
  reason text not null,
  seqs jsonb not null,
  message_id text,
  -- The last event that supervision had seen when it acted.
  at_seq bigint not null,
  injected_seq bigint,
  outcome text not null default 'pending',
  created_at timestamptz not null default now(),
  settled_at timestamptz
);
create index interventions_by_sandbox on interventions (sandbox_id, position);
create index interventions_by_project on interventions (project_id, position);
create index interventions_pending on interventions (sandbox_id) where outcome = 'pending';
