-- Rules over measured figures, what fired, and who was told.

create table alert_rules (
  id text primary key,
  position bigint generated always as identity,
  name text not null,
  -- Null: over all projects.
  project_id text references projects (id),
  metric text not null,
  comparison text not null check (comparison in ('above', 'below')),
  threshold double precision not null,
  for_seconds integer not null,
  cool_down_seconds integer not null,
  severity text not null check (severity in ('warning', 'critical')),
  channels jsonb not null,
  -- Signs what goes to the webhook.
  sealed_secret bytea,
  enabled boolean not null default true,
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- Since when a rule's condition holds, as far as it was measured.
create table alert_states (
  rule_id text primary key references alert_rules (id) on delete cascade,
  since timestamptz not null
);

create table alerts (
  id text primary key,
  position bigint generated always as identity,
  rule_id text not null,
  name text not null,
  project_id text references projects (id),
  metric text not null,
  severity text not null,
  state text not null check (state in ('firing', 'resolved')),
  value double precision not null,
  threshold double precision not null,
  -- Within the cool-down of the one before: kept, and nobody is told.
  is_quiet boolean not null,
  started_at timestamptz not null,
  resolved_at timestamptz,
  acknowledged_at timestamptz,
  acknowledged_by text
);
create unique index alerts_firing on alerts (rule_id) where state = 'firing';
create index alerts_by_rule on alerts (rule_id, position);
create index alerts_by_project on alerts (project_id, position);

-- What goes to a webhook, until it has arrived or was given up.
create table alert_deliveries (
  id text primary key,
  alert_id text not null references alerts (id),
  channel text not null,
  kind text not null check (kind in ('fired', 'resolved')),
  url text not null,
  sealed_secret bytea,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  error text,
  next_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);
create index alert_deliveries_due on alert_deliveries (next_at) where status = 'pending';
create index alert_deliveries_by_alert on alert_deliveries (alert_id);

insert into alert_rules (id, name, metric, comparison, threshold, for_seconds, cool_down_seconds, severity, channels, created_by) values
  ('rule-000000000001', 'Agents drift from their goals', 'alignment', 'below', 0.3, 0, 1800, 'critical', '[{"kind":"log"},{"kind":"desktop"}]', 'drover'),
  ('rule-000000000002', 'Agents are stuck or silent', 'stuck_sandboxes', 'above', 0, 600, 1800, 'warning', '[{"kind":"log"},{"kind":"desktop"}]', 'drover'),
  ('rule-000000000003', 'Events are passed on late', 'event_lag_seconds', 'above', 30, 300, 1800, 'critical', '[{"kind":"log"},{"kind":"desktop"}]', 'drover');
