-- All that waits without order is numbered in event order, in new lanes. Called by delivery.reconfigure, which holds the
-- subscription's state; there are no lanes. A lane does not start before every request that is in flight has ended.
-- All have all their retries before them again; the numbers of their tries go on.
WITH pending AS MATERIALIZED (
  SELECT a.id, a.event_id, a.due_at, a.lease_until,
         lane_key(s.fifo_key, e.event_type, e.ordering_key, e.labels) AS key
    FROM request_attempt a JOIN event e ON e.id = a.event_id JOIN subscription s ON s.id = a.subscription_id
   WHERE a.subscription_id = %(subscription)s::uuid
),
lane AS (
  INSERT INTO fifo_subscription_state (subscription_id, pool, key, tail_seq, phase, ready_at)
  SELECT %(subscription)s::uuid, %(pool)s, key, count(*), 1,
         greatest((array_agg(due_at ORDER BY event_id, id))[1], max(lease_until), clock_timestamp())
    FROM pending GROUP BY key
  RETURNING id, key
),
numbered AS (
  SELECT pending.id, lane.id AS lane_id, row_number() OVER (PARTITION BY lane.id ORDER BY event_id, pending.id) AS seq
    FROM pending JOIN lane USING (key)
),
moved AS (
  UPDATE request_attempt a
     SET lane_id = numbered.lane_id, lane_seq = numbered.seq, epoch = NULL, lease_until = NULL
    FROM numbered WHERE a.id = numbered.id
  RETURNING 1
)
SELECT count(*) FROM moved
