-- The order of the load. Called by spark_ingest.merging; made when all rows are there, which is faster.
CREATE INDEX IF NOT EXISTS {order} ON {staging} (occurred_at, place)
