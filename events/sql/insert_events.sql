-- Store events, in the order given. Called by events.ingest.
-- An event whose type the application does not have, or whose id it has already sent, is left out and said so.
WITH given AS MATERIALIZED (
  SELECT * FROM ROWS FROM (json_to_recordset(%(events)s::json) AS (
    event_id uuid, event_type text, payload text, payload_content_type text, labels jsonb, metadata jsonb,
    occurred_at timestamptz, ordering_key text, priority smallint, deliver_at timestamptz, backoff_schedule integer[],
    traceparent text, tracestate text)
  ) WITH ORDINALITY AS e (
    event_id, event_type, payload, payload_content_type, labels, metadata,
    occurred_at, ordering_key, priority, deliver_at, backoff_schedule, traceparent, tracestate, ordinal)
),
known AS MATERIALIZED (
  SELECT name FROM event_type
   WHERE application_id = %(application)s::uuid AND deactivated_at IS NULL
     AND name = ANY (SELECT event_type FROM given)
),
added AS (
  INSERT INTO event (event_id, application_id, event_type, payload, payload_content_type, labels, metadata, occurred_at,
                     received_at, ip, ordering_key, priority, deliver_at, backoff_schedule, traceparent, tracestate)
  SELECT event_id, %(application)s::uuid, event_type, decode(payload, 'base64'), payload_content_type, labels, metadata,
         occurred_at, clock_timestamp(), %(ip)s::inet, ordering_key, priority, deliver_at, backoff_schedule, traceparent, tracestate
    FROM given JOIN known ON known.name = given.event_type
   ORDER BY ordinal
  ON CONFLICT (application_id, event_id) DO NOTHING
  RETURNING id, event_id, received_at
)
SELECT added.id, added.received_at, known.name IS NOT NULL
  FROM given LEFT JOIN known ON known.name = given.event_type LEFT JOIN added USING (event_id)
 ORDER BY ordinal
