-- The next chunk that nobody merges. Called by spark_ingest.merging. Served by bulk_load_chunk_to_merge.
SELECT number, after_occurred_at, after_place, until_occurred_at, until_place
  FROM bulk_load_chunk
 WHERE load_id = %(load)s AND events IS NULL
 ORDER BY number
 LIMIT 1
   FOR UPDATE SKIP LOCKED
