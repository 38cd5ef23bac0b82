-- Which runs were told to a collector of traces. Rows exist only where there is one.
create table run_traces (
  sandbox_id text primary key references sandboxes (id) on delete cascade,
  tries int not null default 1,
  next_try_at timestamptz not null,
  sent_at timestamptz
);
create index sandboxes_closed_at on sandboxes (closed_at) where closed_at is not null;
