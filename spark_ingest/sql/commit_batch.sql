-- A micro-batch of a stream is merged. Called by spark_ingest.merging, in the transaction that merges it.
UPDATE bulk_load
   SET last_batch = %(batch)s, rows_read = rows_read + %(rows_read)s, rows_quarantined = rows_quarantined + %(lost)s,
       stage = 'batch ' || %(batch)s::text || ' loaded', loaded_at = now(), moved_at = now(),
       quarantined = (
         SELECT coalesce(jsonb_object_agg(reason, amount), '{{}}')
           FROM (SELECT key AS reason, sum(value::bigint) AS amount
                   FROM (SELECT * FROM jsonb_each_text(quarantined)
                          UNION ALL
                         SELECT * FROM jsonb_each_text(%(quarantined)s)) AS each
                  GROUP BY key) AS total)
 WHERE id = %(load)s AND run = %(run)s AND is_stream AND finished_at IS NULL
