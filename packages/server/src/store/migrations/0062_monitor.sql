-- Figures over time for charts and alerts, and runs that behave unlike the others.

create table metric_rows (
  metric text not null,
  -- A project, or '' for all of them.
  scope text not null,
  -- How many seconds a row stands for: what was measured, then coarser ones made of it.
  step integer not null,
  at timestamptz not null,
  value double precision not null,
  primary key (metric, scope, step, at)
);
create index metric_rows_by_age on metric_rows (step, at);

-- One row: where measuring stands. Whoever has locked it measures, so that replicas do so once.
create table metric_cursor (
  id boolean primary key default true check (id),
  at timestamptz not null default '-infinity',
  event_seq bigint not null default 0,
  -- Coarser rows exist up to here.
  rolled_300 timestamptz not null default '-infinity',
  rolled_3600 timestamptz not null default '-infinity',
  -- What was counted since the first measurement.
  totals jsonb not null default '{}',
  -- As it was last told.
  health text
);
insert into metric_cursor default values;

create table anomalies (
  id text primary key,
  position bigint generated always as identity,
  sandbox_id text not null references sandboxes (id),
  project_id text not null references projects (id),
  score double precision not null,
  severity text not null check (severity in ('warning', 'critical')),
  parts jsonb not null,
  readings integer not null,
  created_at timestamptz not null default now(),
  acknowledged_at timestamptz,
  acknowledged_by text
);
create index anomalies_by_project on anomalies (project_id, position);
create index anomalies_by_sandbox on anomalies (sandbox_id, position);

-- What the last readings of a run were, for the next one.
alter table supervision add column anomaly jsonb;
