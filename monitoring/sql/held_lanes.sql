-- Lanes that hold something back, longest first: blocked, paused, with a head that has failed, or due and with no pump, or
-- consumer, to take it. Called by monitoring.held. Served by lane_ready, lane_leased, lane_blocked, lane_paused; the heads by
-- attempt_once_per_number.
WITH held AS (
  SELECT *, since AS held_since FROM fifo_subscription_state WHERE phase = 3
   UNION ALL
  SELECT *, coalesce(since, updated_at) FROM fifo_subscription_state WHERE phase = 4 AND head_seq <= tail_seq
   UNION ALL
  SELECT *, since FROM fifo_subscription_state WHERE phase = 2 AND since IS NOT NULL
   UNION ALL
  SELECT *, coalesce(since, ready_at) FROM fifo_subscription_state
   WHERE phase = 1 AND (since IS NOT NULL OR ready_at < now() - interval '10 s')
),
longest AS MATERIALIZED (
  SELECT * FROM held
   WHERE held_since <= now() - %(seconds)s * interval '1 s'
     AND (%(subscription)s::uuid IS NULL OR subscription_id = %(subscription)s::uuid)
   ORDER BY held_since, id
   LIMIT %(most)s
)
SELECT s.application_id, l.subscription_id, l.id AS lane_id, l.key, l.phase, l.since IS NOT NULL AS has_failed, l.pool < 0 AS is_pulled,
       l.tail_seq - l.head_seq + 1 AS depth, a.id AS delivery_id, e.event_id,
       attempt_id(a.id, a.tries + l.tries + (l.phase IN (1, 4))::int) AS request_attempt_id,
       CASE WHEN l.phase IN (2, 3) THEN greatest(0, l.tries - 1) ELSE l.tries END AS retry_count,
       s.retry_policy::text, e.backoff_schedule, l.held_since AS since,
       extract(epoch FROM now() - l.held_since)::float AS seconds, l.ready_at
  FROM longest l
  JOIN subscription s ON s.id = l.subscription_id
  LEFT JOIN request_attempt a ON a.lane_id = l.id AND a.lane_seq = l.head_seq
  LEFT JOIN event e ON e.id = a.event_id
 ORDER BY l.held_since, l.id
