-- Who serves this database: one row per machine and data directory, kept when it stops.
create table replicas (
  host text primary key,
  -- Where the other replicas reach it.
  address text not null,
  instance text not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- Set when it stopped by itself; a crash leaves it empty.
  left_at timestamptz
);

-- Passes that one replica does for all: who did it last.
create table pass_turns (
  name text primary key,
  taken_by text not null,
  taken_at timestamptz not null default now()
);

-- Where artifacts, repositories and the key of secrets lie, and the mark that stands in that directory.
alter table installation add column storage_mark text, add column storage_path text;
