-- The next chunk that nobody merges. Called by spark_ingest.merging. Served by bulk_load_chunk_to_merge. Times are text: before
-- all of them there is -infinity, which is no time of Python's.
SELECT number, after_occurred_at::text, after_place, until_occurred_at::text, until_place
  FROM bulk_load_chunk
 WHERE load_id = %(load)s AND events IS NULL
 ORDER BY number
 LIMIT 1
   FOR UPDATE SKIP LOCKED
