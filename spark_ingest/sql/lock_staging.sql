-- No more rows until the end of the transaction; it waits for who copies. Called by spark_ingest.merging for the micro-batch of a
-- stream, before it drops what does not count: what comes later is dropped with the next.
LOCK TABLE {staging} IN ACCESS EXCLUSIVE MODE
