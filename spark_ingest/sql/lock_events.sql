-- Lock the events of a chunk, as who replays one does. Called by spark_ingest.loads, before it deletes them. Served by the primary
-- key.
SELECT FROM event WHERE id = ANY (%(events)s::bigint[]) ORDER BY id FOR UPDATE
