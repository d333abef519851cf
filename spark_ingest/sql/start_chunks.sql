-- The chunks of a load are planned. Called by spark_ingest.merging, in the transaction that plans them. Served by the primary key.
UPDATE bulk_load SET chunks = chunks + %(chunks)s, rows_merged = rows_merged + %(duplicates)s
 WHERE id = %(load)s AND run = %(run)s AND (is_stream OR state = 'merging') AND finished_at IS NULL
