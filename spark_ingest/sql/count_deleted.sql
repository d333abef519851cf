-- Some events of the load are gone. Called by spark_ingest.loads, in the transaction that deletes them. Served by the primary key.
UPDATE bulk_load SET events_count = events_count - %(gone)s, rows_merged = rows_merged - %(gone)s
 WHERE id = %(load)s AND run = %(run)s AND state IN ('loading', 'merging')
