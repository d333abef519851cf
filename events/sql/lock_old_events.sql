-- Lock events past retention that no pending delivery and no dead letter needs, among the next so many by age. Called by
-- events.retention. The primary key has them in the order they came in; it is read from where the batch before ended.
WITH batch AS MATERIALIZED (
  SELECT id, received_at FROM event WHERE id > %(after)s ORDER BY id LIMIT %(most)s
),
locked AS (
  SELECT e.id
    FROM event e
   WHERE e.id IN (SELECT id FROM batch WHERE received_at < %(before)s::timestamptz)
     AND NOT EXISTS (SELECT FROM request_attempt a WHERE a.event_id = e.id)
     AND NOT EXISTS (SELECT FROM dead_letter d WHERE d.event_id = e.id)
   FOR UPDATE OF e SKIP LOCKED
)
SELECT (SELECT array_agg(id) FROM locked), max(id),
       count(*) = %(most)s AND bool_and(received_at < %(before)s::timestamptz)
  FROM batch
