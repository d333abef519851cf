-- The row of a new load; one that is there stays as it is. Called by spark_ingest.loads. Served by the primary key.
INSERT INTO bulk_load (id, application_id, source, actor, per_second, is_stream, state)
VALUES (%(load_id)s, %(application_id)s, %(source)s, %(actor)s, %(per_second)s, %(is_stream)s,
        CASE WHEN %(is_stream)s THEN 'ready' ELSE 'loading' END)
ON CONFLICT (id) DO NOTHING
