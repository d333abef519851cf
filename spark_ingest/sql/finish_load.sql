-- All events are there: the release may begin. Called by spark_ingest.loads. Served by the primary key.
UPDATE bulk_load
   SET state = 'ready', stage = 'loaded', progress = 100, loaded_at = now(), moved_at = now(), staging = ''
 WHERE id = %(load)s AND run = %(run)s AND state = 'merging'
