-- More lanes, so that the order in each is exact; see store/task-queue.ts. Tasks find their places when the queue is next mended.

create index tasks_due_by_lane on tasks (lane, deadline_at) where status = 'pending' and deadline_at is not null;
drop index tasks_due;
create index tasks_ready_oldest on tasks (project_id, lane, created_at, id) where status = 'pending' and unmet = 0 and not is_held and lane = 6;
