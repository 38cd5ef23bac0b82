-- What was told about an agent, silence and restarts, found without reading its project's events.
create index events_by_agent on events (entity_id, seq) where entity_type = 'agent';
