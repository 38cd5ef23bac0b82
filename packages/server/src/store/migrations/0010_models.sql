-- What models cost and may cost, and where their calls go.

alter table sandboxes
  -- Sums of its cost records, written with them.
  add column cost_usd numeric(20, 10) not null default 0,
  add column priced_calls integer not null default 0,
  add column unpriced_calls integer not null default 0,
  add column input_tokens bigint not null default 0,
  add column output_tokens bigint not null default 0,
  add column cache_read_tokens bigint not null default 0,
  add column cache_write_tokens bigint not null default 0;

create table cost_records (
  -- Sorts by time.
  id uuid primary key,
  sandbox_id text not null references sandboxes (id),
  project_id text not null,
  task_id text,
  ticket_id text,
  generation integer not null,
  turn integer not null,
  provider text not null,
  model text not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  -- Null: the price was not known.
  input_usd numeric(20, 10),
  output_usd numeric(20, 10),
  is_estimate boolean not null,
  recorded_at timestamptz not null default now()
);
create index cost_records_by_sandbox on cost_records (sandbox_id, id desc);
create index cost_records_by_project on cost_records (project_id, id desc);
create index cost_records_by_task on cost_records (task_id, id desc) where task_id is not null;
create index cost_records_by_ticket on cost_records (ticket_id, id desc) where ticket_id is not null;

-- US dollars for a million tokens; `model` may contain stars.
create table model_prices (
  model text primary key,
  input double precision not null,
  output double precision not null,
  cache_read double precision,
  cache_write double precision,
  -- list: came with Drover and follows it; edited: somebody's own, left alone.
  origin text not null check (origin in ('list', 'edited')),
  as_of text not null,
  updated_at timestamptz not null default now()
);

create table model_upstreams (
  protocol text primary key check (protocol in ('anthropic', 'openai', 'gemini')),
  base_url text,
  sealed_key bytea,
  updated_at timestamptz not null default now()
);

create table budgets (
  id text primary key,
  scope_type text not null check (scope_type in ('global', 'project', 'ticket', 'task', 'sandbox')),
  scope_id text,
  project_id text references projects (id),
  limit_usd numeric(20, 10) not null check (limit_usd >= 0),
  spent_usd numeric(20, 10) not null default 0,
  unpriced_count integer not null default 0,
  warn_share double precision not null,
  warned_at timestamptz,
  period_start timestamptz not null default now(),
  period_end timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((scope_type = 'global') = (scope_id is null))
);
create index budgets_by_scope on budgets (scope_type, scope_id);

-- Money held for a call under way. One that its server did not live to settle runs out.
create table budget_reservations (
  call_id uuid not null,
  budget_id text not null references budgets (id) on delete cascade,
  amount_usd numeric(20, 10) not null,
  instance text not null,
  expires_at timestamptz not null,
  primary key (budget_id, call_id)
);
create index budget_reservations_by_call on budget_reservations (call_id);
