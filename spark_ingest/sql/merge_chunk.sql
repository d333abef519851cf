-- The rows of a chunk become events, and the chunk gets those that are new. Called by spark_ingest.merging, which says what is to be
-- done with those that the application has. Served by the index of sort_staging.sql and event_once_per_application.
WITH added AS (
  INSERT INTO event (event_id, application_id, event_type, payload, payload_content_type, labels, metadata, occurred_at,
                     received_at, ordering_key, priority, deliver_at, backoff_schedule, keys_if_undelivered)
  SELECT event_id, %(application)s::uuid, event_type, payload, payload_content_type, labels, metadata, occurred_at,
         clock_timestamp(), ordering_key, 30, deliver_at, backoff_schedule::integer[],
         keys_if_undelivered
    FROM {staging}
   WHERE (occurred_at, place) > (coalesce(%(after)s::timestamptz, '-infinity'), coalesce(%(after_place)s::bigint, 0))
     AND (occurred_at, place) <= (%(until)s::timestamptz, %(until_place)s::bigint)
   ORDER BY occurred_at, place
  {conflict}
  RETURNING id
)
UPDATE bulk_load_chunk
   SET events = (SELECT coalesce(array_agg(id ORDER BY id), '{{}}') FROM added)
 WHERE load_id = %(load)s AND number = %(number)s
RETURNING cardinality(events), (
  SELECT count(*) FROM {staging}
   WHERE (occurred_at, place) > (coalesce(%(after)s::timestamptz, '-infinity'), coalesce(%(after_place)s::bigint, 0))
     AND (occurred_at, place) <= (%(until)s::timestamptz, %(until_place)s::bigint))
