-- A phase of the work may have a budget too.

alter table budgets
  drop constraint budgets_scope_type_check,
  add constraint budgets_scope_type_check check (scope_type in ('global', 'project', 'phase', 'ticket', 'task', 'sandbox'));
