-- Whether there is such an application. Called by spark_ingest.loads. Served by the primary key.
SELECT FROM application WHERE id = %(application)s AND deleted_at IS NULL
