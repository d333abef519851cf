-- The load belongs to this run from now on. Called by spark_ingest.loads. Served by the primary key.
UPDATE bulk_load
   SET run = %(run)s, started_at = CASE WHEN is_stream THEN started_at ELSE now() END, error = '', per_second = coalesce(%(per_second)s, per_second)
 WHERE id = %(load)s
