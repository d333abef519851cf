-- A load of which nothing is left. Called by spark_ingest.loads. Served by the primary key.
UPDATE bulk_load
   SET state = 'failed', stage = '', error = %(error)s, staging = '', finished_at = now(), progress = 0, rows_merged = 0,
       events_count = 0, chunks = 0
 WHERE id = %(load)s AND run = %(run)s AND state IN ('loading', 'merging')
