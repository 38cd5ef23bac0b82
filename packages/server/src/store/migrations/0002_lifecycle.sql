-- Sandboxes that a provider makes: what was asked for, who looks after them, what became of them.

create table installation (
  is_only boolean primary key default true check (is_only),
  id text not null
);
insert into installation (id) values (replace(gen_random_uuid()::text, '-', ''));

alter table sandboxes
  -- Each resource with its value and where that came from.
  add column resources jsonb not null
    default '{"memory_gb": {"value": 4, "origin": "default"}, "cpu": {"value": 2, "origin": "default"}, "disk_gb": {"value": 8, "origin": "default"}}',
  add column network text not null default 'allowlist',
  -- The server process that provisions it now, and until when it is believed to be alive.
  add column lease_owner text,
  add column lease_until timestamptz,
  -- The machine it stands on, for providers that are bound to one.
  add column host text,
  add column provisioned_at timestamptz,
  add column enforced_by jsonb;
create index sandboxes_open on sandboxes (state) where closed_at is null;
