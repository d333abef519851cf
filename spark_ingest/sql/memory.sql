-- For sorting a load, in this transaction alone. Called by spark_ingest.merging.
SELECT set_config('work_mem', '128MB', true), set_config('maintenance_work_mem', '256MB', true)
