-- Delete those of some locked events that nothing has come to need meanwhile. Called by events.retention, in a snapshot
-- of its own: who replays an event locks it, and we see what that has made. Served by the primary key.
DELETE FROM event e
 WHERE id = ANY (%(events)s::bigint[])
   AND NOT EXISTS (SELECT FROM request_attempt a WHERE a.event_id = e.id)
   AND NOT EXISTS (SELECT FROM dead_letter d WHERE d.event_id = e.id)
