-- What people with authority did in an emergency, with what was before and after; kept for the record.

create table guardian_actions (
  id text primary key,
  position bigint generated always as identity,
  project_id text not null references projects (id),
  action_type text not null check (action_type in ('cancel_task', 'override_priority')),
  target_entity text not null,
  reason text not null,
  initiated_by text not null,
  before_state jsonb not null,
  after_state jsonb not null,
  executed_at timestamptz not null default now(),
  reverted_at timestamptz,
  reverted_by text,
  revert_reason text
);
create index guardian_actions_by_project on guardian_actions (project_id, position);
create index guardian_actions_by_target on guardian_actions (target_entity, position);
