-- Sessions that are kept no longer: decided first, then emptied in small steps, by whichever replica comes along.

alter table sandboxes
  add column removed_at timestamptz,
  add column emptied_at timestamptz;
create index sandboxes_retained on sandboxes (project_id, ended_at) where closed_at is not null and removed_at is null;
create index sandboxes_removing on sandboxes (removed_at) where removed_at is not null and emptied_at is null;

-- Bytes that no session names any more, until they are old enough to be sure of it.
create table unused_blobs (
  id text primary key,
  since timestamptz not null default now()
);
create index artifacts_by_id on artifacts (id);
