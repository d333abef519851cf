-- How far the load is. Called by spark_ingest.merging, in the transaction that merges a chunk. Served by the primary key.
UPDATE bulk_load
   SET rows_merged = rows_merged + %(rows)s, events_count = events_count + %(events)s, stage = 'merging',
       progress = CASE WHEN is_stream THEN 100 ELSE 50 + 50 * (rows_merged + %(rows)s) / (rows_read - rows_quarantined) END
 WHERE id = %(load)s AND run = %(run)s AND (is_stream OR state = 'merging') AND finished_at IS NULL
