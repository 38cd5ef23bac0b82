-- The server's own calls of models are on record too, and runs that stand out are looked into without a task.

alter table cost_records
  alter column sandbox_id drop not null,
  add column purpose text not null default 'agent' check (purpose in ('agent', 'judge', 'title'));

alter table diagnostic_runs
  alter column ticket_id drop not null,
  alter column task_id drop not null,
  add column sandbox_id text references sandboxes (id),
  -- When it was told that the run is over; null: it is not, or nobody was told yet.
  add column told_at timestamptz,
  drop constraint diagnostic_runs_trigger_check,
  add constraint diagnostic_runs_trigger_check check (trigger in ('automatic', 'manual', 'anomaly')),
  add constraint diagnostic_runs_of_something check (
    case when trigger = 'anomaly' then sandbox_id is not null else ticket_id is not null and task_id is not null end);
-- Those of before were told of by their tasks.
update diagnostic_runs set told_at = created_at;
create index diagnostic_runs_untold on diagnostic_runs (position) where told_at is null;
