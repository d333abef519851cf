-- Rows of tasks that did not count: of retried and speculative ones. Called by spark_ingest.merging; reads the table once.
DELETE FROM {staging} WHERE attempt <> ALL (%(committed)s::bigint[])
