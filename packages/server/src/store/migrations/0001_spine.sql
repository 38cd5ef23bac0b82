-- Projects, credentials, sandboxes, the event log, messages and what they hang on.

create table projects (
  id text primary key,
  name text not null unique,
  description text,
  repo text,
  is_default boolean not null default false,
  created_at timestamptz not null default now()
);
create unique index projects_one_default on projects (is_default) where is_default;

-- Credentials of people and programs. Secrets are kept as SHA-256 of 32 random bytes.
create table tokens (
  id text primary key,
  hash bytea not null unique,
  name text not null,
  role text not null check (role in ('viewer', 'operator', 'admin')),
  project_id text references projects (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);

create table sessions (
  hash bytea primary key,
  token_id text not null references tokens (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_by_token on sessions (token_id);

-- One-time secrets: login codes and tickets for one WebSocket. A used one is deleted.
create table one_time_secrets (
  hash bytea primary key,
  kind text not null check (kind in ('login', 'ws')),
  token_id text not null references tokens (id),
  expires_at timestamptz not null
);

create table sandboxes (
  id text primary key,
  project_id text not null references projects (id),
  task_id text,
  state text not null,
  state_cause text,
  generation integer not null default 1,
  provider text not null,
  provider_id text,
  runtime text,
  model text,
  prompt text,
  repo text,
  base_branch text,
  branch text,
  labels jsonb not null default '{}',
  spec jsonb not null default '{}',
  created_by text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  -- Set when nothing of the sandbox is left anywhere: its credentials are void and its log is closed to workers.
  closed_at timestamptz,
  -- Projections of the event log, written in the transaction that appends.
  last_sandbox_seq bigint not null default 0,
  last_seq bigint not null default 0,
  last_event_type text,
  last_event_at timestamptz,
  turn integer not null default 0,
  heartbeat_count bigint not null default 0,
  first_heartbeat_at timestamptz,
  last_heartbeat_at timestamptz,
  last_contact_at timestamptz
);
create index sandboxes_by_project on sandboxes (project_id, created_at desc, id desc);
create index sandboxes_by_age on sandboxes (created_at desc, id desc);
create index sandboxes_by_task on sandboxes (task_id) where task_id is not null;

create table sandbox_tokens (
  hash bytea primary key,
  sandbox_id text not null references sandboxes (id),
  generation integer not null,
  scope text not null check (scope in ('worker', 'gateway', 'git')),
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
create index sandbox_tokens_by_sandbox on sandbox_tokens (sandbox_id);

-- Taken under the append lock only, so that numbers become visible in their order.
create sequence event_seq;

create table events (
  seq bigint primary key,
  id uuid not null,
  sandbox_id text,
  sandbox_seq bigint,
  project_id text,
  task_id text,
  entity_type text not null,
  entity_id text not null,
  event_type text not null,
  event_data jsonb not null,
  source text not null,
  created_at timestamptz not null,
  client_event_id text,
  generation integer,
  caused_by uuid,
  turn integer,
  tool text,
  ref text,
  size integer not null,
  flags smallint not null
);
-- Ids sort by time, so this index grows at its right end like the others.
create unique index events_by_id on events (id);
create unique index events_by_sandbox on events (sandbox_id, seq);
create index events_by_type on events (sandbox_id, event_type, seq);
create index events_by_project on events (project_id, seq);
-- What a trajectory shows: no heartbeats (1), no noise (2).
create index events_trajectory on events (sandbox_id, seq) where flags & 3 = 0;

-- The last of `count` new numbers. The lock is kept to the end of the transaction, so that transactions become visible
-- in the order of their numbers and a reader never sees a lower one appear later. Take all row locks before.
create function take_event_seqs(count bigint) returns bigint language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1685222262);
  return setval('event_seq', nextval('event_seq') + count - 1);
end $$;

-- What makes a repeated POST a duplicate; apart from events so that those can be partitioned and aged.
create table event_keys (
  sandbox_id text not null,
  client_event_id text not null,
  seq bigint not null,
  primary key (sandbox_id, client_event_id)
);

create table artifacts (
  sandbox_id text not null references sandboxes (id),
  id text not null,
  size bigint not null,
  created_at timestamptz not null default now(),
  primary key (sandbox_id, id)
);

create table messages (
  id text primary key,
  sandbox_id text not null references sandboxes (id),
  position bigint generated always as identity,
  content text not null,
  message_type text not null,
  delivery text not null,
  is_urgent boolean not null,
  state text not null,
  sender text,
  turn integer,
  detail text,
  queued_at timestamptz not null default now(),
  leased_at timestamptz,
  leased_until timestamptz,
  delivered_at timestamptz,
  seen_at timestamptz,
  ended_at timestamptz
);
create index messages_by_sandbox on messages (sandbox_id, position);
create index messages_waiting on messages (sandbox_id, is_urgent desc, position) where state in ('queued', 'leased');

-- The reply of a POST that created something, sealed, so that a repeated one changes nothing and gets the same answer.
create table idempotency_keys (
  key_hash bytea primary key,
  request_hash bytea not null,
  sealed_reply bytea not null,
  created_at timestamptz not null default now()
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  target text,
  project_id text,
  detail jsonb not null default '{}',
  request_id text
);
create index audit_by_time on audit (at);
