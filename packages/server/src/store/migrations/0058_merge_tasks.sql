-- Convergence by an agent, and behind tests: the task that does it, and what would be kept.

alter table merge_attempts
  add column merge_task_id text,
  add column from_commit text,
  add column result_commit text;
create index merge_attempts_open on merge_attempts (ticket_id) where status in ('resolving', 'testing');
create index merge_attempts_by_merge_task on merge_attempts (merge_task_id) where merge_task_id is not null;
