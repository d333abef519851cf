-- A table for the rows of one load. Called by spark_ingest.loads. Unlogged: what a crash of the server takes is read again.
CREATE UNLOGGED TABLE {staging} (
  attempt bigint NOT NULL,
  place bigint NOT NULL,
  occurred_at timestamptz NOT NULL,
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  payload bytea NOT NULL,
  payload_content_type text NOT NULL,
  labels jsonb NOT NULL,
  metadata jsonb NOT NULL,
  ordering_key text,
  deliver_at timestamptz,
  backoff_schedule text,
  keys_if_undelivered jsonb
) WITH (autovacuum_enabled = off)
