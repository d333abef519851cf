-- Rows of a task. Called by spark_ingest.staging, which gives the columns in this order.
COPY {staging} (attempt, place, occurred_at, event_id, event_type, payload, payload_content_type, labels, metadata, ordering_key,
                deliver_at, backoff_schedule, keys_if_undelivered) FROM STDIN (FORMAT binary)
