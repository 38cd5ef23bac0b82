-- Sessions that came from archives, and their events before they are in the log.

create table archives (
  project_id text not null references projects (id),
  -- SHA-256 of the archive: the same one is imported once.
  seal text not null,
  sandbox_id text not null references sandboxes (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (project_id, seal)
);
create index archives_by_sandbox on archives (sandbox_id);

create table archive_events (
  import_id uuid not null,
  id uuid not null,
  sandbox_seq bigint not null,
  event_type text not null,
  event_data jsonb not null,
  source text not null,
  created_at timestamptz not null,
  generation integer,
  caused_by_seq bigint,
  turn integer,
  tool text,
  ref text,
  size integer not null,
  flags smallint not null,
  staged_at timestamptz not null default now(),
  primary key (import_id, sandbox_seq)
);
create index archive_events_old on archive_events (staged_at);
