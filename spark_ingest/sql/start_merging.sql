-- The staged rows are all there. Called by spark_ingest.loads, in the transaction that drops what does not count.
UPDATE bulk_load
   SET state = 'merging', stage = 'sorting', progress = 50, rows_read = %(rows_read)s, rows_quarantined = %(lost)s,
       quarantined = %(quarantined)s, rows_merged = 0, events_count = 0, chunks = 0
 WHERE id = %(load)s AND run = %(run)s AND state = 'loading'
