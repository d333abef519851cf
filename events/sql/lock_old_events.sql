-- Lock events past retention that no pending delivery, no dead letter and no bulk load needs, among the next so many by age.
-- Called by events.retention. The primary key has them in the order they came in; it is read from where the batch before
-- ended. Of a bulk load (priority 30) that has something to release, all events are kept. Served by bulk_load_not_over.
WITH batch AS MATERIALIZED (
  SELECT id, received_at FROM event WHERE id > %(after)s ORDER BY id LIMIT %(most)s
),
locked AS (
  SELECT e.id
    FROM event e
   WHERE e.id IN (SELECT id FROM batch WHERE received_at < %(before)s::timestamptz)
     AND NOT EXISTS (SELECT FROM request_attempt a WHERE a.event_id = e.id)
     AND NOT EXISTS (SELECT FROM dead_letter d WHERE d.event_id = e.id)
     AND NOT EXISTS (SELECT FROM bulk_load l
                      WHERE l.application_id = e.application_id AND l.finished_at IS NULL AND l.released_chunks < l.chunks
                        AND l.created_at <= e.received_at AND e.priority = 30)
   FOR UPDATE OF e SKIP LOCKED
)
SELECT (SELECT array_agg(id) FROM locked), max(id),
       count(*) = %(most)s AND bool_and(received_at < %(before)s::timestamptz)
  FROM batch
