-- What agents ask before they act, and what was decided. Written with the events that tell of it.

create table permission_requests (
  sandbox_id text not null references sandboxes (id),
  request_id text not null,
  position bigint generated always as identity,
  -- The worker that asked: a request of an older one is closed, unless the new worker asks it again.
  generation integer not null,
  kind text not null,
  turn integer not null,
  tool_use_id text,
  tool text not null,
  input jsonb not null,
  options jsonb not null,
  state text not null,
  decision text,
  option_id text,
  answer text,
  note text,
  decided_by text,
  -- The person who answered.
  answerer text,
  requested_at timestamptz not null default now(),
  deadline_at timestamptz,
  answered_at timestamptz,
  primary key (sandbox_id, request_id)
);
create index permission_requests_by_sandbox on permission_requests (sandbox_id, position);
