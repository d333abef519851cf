-- The staging table of a stream, for the next micro-batch. Called by spark_ingest.merging.
TRUNCATE {staging}
