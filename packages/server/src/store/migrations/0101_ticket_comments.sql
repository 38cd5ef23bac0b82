-- What is said on tickets.
create table ticket_comments (
  id text primary key,
  position bigint generated always as identity,
  ticket_id text not null references tickets (id),
  author_id text not null,
  author_name text not null,
  author_type text not null check (author_type in ('person', 'agent')),
  comment_type text not null,
  comment_text text not null,
  created_at timestamptz not null default now()
);
create index ticket_comments_by_ticket on ticket_comments (ticket_id, position desc);
create index ticket_comments_by_agent on ticket_comments (author_id) where author_type = 'agent';

-- The words of tickets, kept by the database itself; no language is assumed.
alter table tickets add column words tsvector generated always as
  (setweight(to_tsvector('simple', title), 'A') || setweight(to_tsvector('simple', coalesce(description, '')), 'B')) stored;
create index tickets_by_words on tickets using gin (words);

-- Vectors of tickets, made when somebody searches; one whose text has changed since is made again.
create table ticket_vectors (
  ticket_id text primary key references tickets (id) on delete cascade,
  text_hash text not null,
  vector bytea not null
);
