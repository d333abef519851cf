-- For the connections that merge chunks. Called by spark_ingest.merging. The index has the rows in order. A commit need not wait
-- for the disk: a chunk that a crash takes is merged again, and the commit of finish_load.sql waits for all before it.
SELECT set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
       set_config('synchronous_commit', 'off', false)
