-- What makes a repeated POST a duplicate stands in the event itself: one row less to write per event.
create unique index events_by_key on events (sandbox_id, client_event_id) where client_event_id is not null;
drop table event_keys;
