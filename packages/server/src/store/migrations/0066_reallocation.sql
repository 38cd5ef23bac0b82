-- Capacity that moves from one project to another in an emergency.
alter table guardian_actions drop constraint guardian_actions_action_type_check;
alter table guardian_actions add constraint guardian_actions_action_type_check
  check (action_type in ('cancel_task', 'override_priority', 'reallocate_capacity'));
