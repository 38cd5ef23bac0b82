-- A ticket's own events, found without reading its project's.
create index events_by_ticket on events (entity_id, seq) where entity_type = 'ticket';
