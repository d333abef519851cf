-- The rows of the load go into a new table; a load that has failed begins anew. Called by spark_ingest.loads. Served by the
-- primary key.
UPDATE bulk_load
   SET staging = %(staging)s, state = CASE WHEN is_stream THEN state ELSE 'loading' END,
       stage = 'reading', finished_at = CASE WHEN is_stream THEN finished_at END,
       progress = CASE WHEN is_stream THEN 100 ELSE 0 END
 WHERE id = %(load)s
