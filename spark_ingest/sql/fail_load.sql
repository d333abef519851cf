-- A load of which nothing is left, but events that have deliveries. Called by spark_ingest.loads. Served by the primary key.
UPDATE bulk_load
   SET state = 'failed', stage = '', error = %(error)s, staging = '', finished_at = now(), progress = 0,
       rows_merged = events_count, chunks = 0
 WHERE id = %(load)s AND run = %(run)s AND state IN ('loading', 'merging')
