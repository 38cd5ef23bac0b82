-- Tickets, tasks, what they wait for, and every try at them.

alter table projects
  add column status text not null default 'active',
  add column autonomous_execution_enabled boolean not null default false,
  add column settings jsonb not null default '{}';

create table tickets (
  id text primary key,
  project_id text not null references projects (id),
  title text not null,
  description text,
  ticket_type text,
  phase_id text not null,
  previous_phase_id text,
  status text not null,
  priority text not null,
  is_blocked boolean not null default false,
  blocked_reason text,
  blocked_at timestamptz,
  approval_status text not null,
  approval_deadline_at timestamptz,
  rejection_reason text,
  workflow_mode text,
  context jsonb not null default '{}',
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index tickets_by_project on tickets (project_id, created_at desc, id desc);
create index tickets_by_age on tickets (created_at desc, id desc);
create index tickets_open on tickets (status) where status <> 'done';
create index tickets_waiting on tickets (approval_deadline_at) where approval_status = 'pending_review';

create table ticket_dependencies (
  ticket_id text not null references tickets (id),
  blocked_by text not null references tickets (id),
  primary key (ticket_id, blocked_by)
);
create index ticket_dependencies_by_blocker on ticket_dependencies (blocked_by);

create table tasks (
  id text primary key,
  project_id text not null references projects (id),
  ticket_id text not null references tickets (id),
  parent_task_id text references tasks (id),
  phase_id text not null,
  task_type text not null,
  title text not null,
  description text,
  priority text not null,
  status text not null,
  status_reason text,
  -- When it came into its state: what is stale is told from this, never from its age.
  status_changed_at timestamptz not null default now(),
  sandbox_id text,
  claimed_by text,
  conversation_id text,
  owned_files text[] not null default '{}',
  required_capabilities text[] not null default '{}',
  execution_config jsonb not null default '{}',
  result jsonb,
  error_message text,
  synthesis_context jsonb,
  retry_count integer not null default 0,
  max_retries integer not null default 3,
  not_before timestamptz,
  timeout_seconds integer,
  deadline_at timestamptz,
  estimated_seconds integer,
  validation_enabled boolean not null default false,
  validation_iteration integer not null default 0,
  last_validation_feedback text,
  review_done boolean not null default false,
  discovered_by text,
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  claimed_at timestamptz,
  assigned_at timestamptz,
  started_at timestamptz,
  completed_at timestamptz,
  -- Derived, by one statement, from dependencies, ticket, project and time: dependencies that are not completed, pending
  -- dependents, whether something else holds it back, and its place in the queue (see store/task-queue.ts).
  unmet integer not null default 0,
  blockers integer not null default 0,
  is_held boolean not null default true,
  lane smallint not null default 0,
  rank double precision not null default 0
);
create index tasks_by_project on tasks (project_id, created_at desc, id desc);
create index tasks_by_age on tasks (created_at desc, id desc);
create index tasks_by_ticket on tasks (ticket_id, created_at, id);
create index tasks_ready on tasks (project_id, lane, rank desc, created_at, id) where status = 'pending' and unmet = 0 and not is_held;
create index tasks_ripening on tasks (lane, created_at) where status = 'pending';
create index tasks_due on tasks (deadline_at) where status = 'pending' and deadline_at is not null;
create index tasks_delayed on tasks (not_before) where status = 'pending' and lane = 4;
create index tasks_active on tasks (project_id, status) where status in ('claiming', 'assigned', 'running', 'validating');
create index tasks_to_validate on tasks (status_changed_at) where status = 'pending_validation';
create index tasks_stuck on tasks (status, status_changed_at) where status in ('blocked', 'needs_revision');

create table task_dependencies (
  task_id text not null references tasks (id),
  depends_on text not null references tasks (id),
  primary key (task_id, depends_on),
  check (task_id <> depends_on)
);
create index task_dependencies_by_target on task_dependencies (depends_on);

create table task_attempts (
  task_id text not null references tasks (id),
  number integer not null,
  kind text not null check (kind in ('work', 'validation')),
  sandbox_id text not null unique references sandboxes (id),
  outcome text,
  error_message text,
  result jsonb,
  resumes text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  primary key (task_id, number)
);
-- A task has at most one try under way: whatever goes wrong in the code, it does not run twice at once.
create unique index task_attempts_open on task_attempts (task_id) where ended_at is null;

create table task_joins (
  id text primary key,
  continuation_task_id text not null references tasks (id),
  source_task_ids text[] not null,
  merge_strategy text not null,
  status text not null default 'waiting',
  created_at timestamptz not null default now(),
  completed_at timestamptz
);
create index task_joins_waiting on task_joins (continuation_task_id) where status = 'waiting';

create table task_discoveries (
  id text primary key,
  source_task_id text not null references tasks (id),
  ticket_id text not null references tickets (id),
  discovery_type text not null,
  description text not null,
  spawned_task_ids text[] not null default '{}',
  priority_boost boolean not null default false,
  resolution_status text not null default 'open',
  discovered_at timestamptz not null default now()
);
create index task_discoveries_by_task on task_discoveries (source_task_id, discovered_at);
create index task_discoveries_by_ticket on task_discoveries (ticket_id, discovered_at);

create table validation_reviews (
  id bigint generated always as identity primary key,
  task_id text not null references tasks (id),
  sandbox_id text not null references sandboxes (id),
  iteration_number integer not null,
  validation_passed boolean not null,
  feedback text not null,
  evidence jsonb,
  recommendations jsonb,
  created_at timestamptz not null default now()
);
create index validation_reviews_by_task on validation_reviews (task_id, id);
