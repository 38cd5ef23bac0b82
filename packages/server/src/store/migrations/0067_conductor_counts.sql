-- How many agents say that they are done, and in how many phases several agents work on what joins their work.
alter table conductor_analyses add column termination_count integer not null default 0,
  add column coordination_count integer not null default 0;
