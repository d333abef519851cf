-- What goes on. Called by spark_ingest.loads. Served by the primary key.
UPDATE bulk_load SET stage = %(stage)s, progress = coalesce(%(progress)s, progress)
 WHERE id = %(load)s AND run = %(run)s AND state = 'loading'
