-- A load, as spark_ingest.loads wants it. Served by the primary key.
SELECT id, application_id, state, stage, progress, source, run, staging, is_stream, last_batch, rows_read, rows_quarantined, quarantined,
       rows_merged, events_count, chunks, started_at
  FROM bulk_load WHERE id = %(load)s
