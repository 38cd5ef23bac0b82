-- Conversations of agent servers, told by webhooks: how far each was read, and what waits for the numbers before it.

create table agent_conversations (
  id uuid primary key,
  -- Null only inside the transaction that makes it. One that has ended is followed by another.
  sandbox_id text references sandboxes (id),
  next_seq bigint not null default 0,
  last_event_id text,
  followed jsonb not null,
  is_working boolean not null default false,
  -- Since when something waits behind a hole.
  gap_since timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index agent_conversations_gaps on agent_conversations (gap_since) where gap_since is not null;
create index agent_conversations_working on agent_conversations (updated_at) where is_working;
create index agent_conversations_sandbox on agent_conversations (sandbox_id);

create table agent_unread (
  conversation_id uuid not null references agent_conversations (id) on delete cascade,
  seq bigint not null,
  event jsonb not null,
  primary key (conversation_id, seq)
);
