-- A message that nobody has read goes on with its run: the sandbox that resumes gets a copy, and the copy's name stands here.
alter table messages add column copied_as text references messages (id);
