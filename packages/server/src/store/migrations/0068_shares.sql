-- Links by which anybody may watch one run. The secret is kept as SHA-256 of 32 random bytes.

create table shares (
  id text primary key,
  position bigint generated always as identity,
  hash bytea not null unique,
  sandbox_id text not null references sandboxes (id),
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index shares_by_sandbox on shares (sandbox_id, position);
