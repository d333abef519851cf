-- Delete those of some locked events that nobody has replayed: a delivery needs its event. Called by spark_ingest.loads, in a
-- snapshot of its own, which sees what a replay has made. Served by the primary key.
DELETE FROM event e
 WHERE id = ANY (%(events)s::bigint[])
   AND NOT EXISTS (SELECT FROM request_attempt a WHERE a.event_id = e.id)
   AND NOT EXISTS (SELECT FROM dead_letter d WHERE d.event_id = e.id)
