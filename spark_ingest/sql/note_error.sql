-- What went wrong. Called by spark_ingest.loads. Served by the primary key.
UPDATE bulk_load SET error = %(error)s WHERE id = %(load)s AND run = %(run)s
