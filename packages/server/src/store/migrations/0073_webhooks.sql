-- Outbound webhooks: each has read the log up to a number, and a row for everything it is to tell.

create table webhooks (
  id text primary key,
  project_id text references projects (id),
  url text not null,
  description text not null,
  event_types text[] not null,
  is_enabled boolean not null,
  disabled_reason text,
  sealed_secret bytea not null,
  seen_seq bigint not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table outbound_deliveries (
  id uuid primary key,
  webhook_id text not null references webhooks (id) on delete cascade,
  -- Null: a test event, which stands in no log.
  seq bigint,
  event_id uuid,
  event_type text not null,
  state text not null check (state in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  next_try_at timestamptz,
  leased_until timestamptz,
  leased_by text,
  last_status integer,
  last_error text,
  last_try_at timestamptz,
  delivered_at timestamptz,
  created_at timestamptz not null default now(),
  unique (webhook_id, seq)
);
create index outbound_deliveries_due on outbound_deliveries (next_try_at) where state = 'pending';
create index outbound_deliveries_log on outbound_deliveries (webhook_id, id desc);
create index outbound_deliveries_old on outbound_deliveries (created_at) where state <> 'pending';
