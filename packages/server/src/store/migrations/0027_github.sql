-- GitHub: whose token acts for whom, and which deliveries of webhooks were handled.

create table person_git_tokens (
  token_id text primary key references tokens (id),
  sealed_token bytea not null,
  created_at timestamptz not null default now()
);

create unique index project_git_by_place on project_git (lower(owner), lower(name)) where host = 'github';

create table webhook_deliveries (
  id text primary key,
  event text not null,
  received_at timestamptz not null default now()
);
create index webhook_deliveries_by_age on webhook_deliveries (received_at);
