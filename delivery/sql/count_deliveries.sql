-- How many deliveries of each subscription of an application wait, are being handled, and were given up, and how often all
-- of these were tried again. Called by delivery.statistics. It counts, so it reads what it counts: the live deliveries and
-- the dead letters of the subscriptions asked for, and with labels their events.
WITH subscriptions AS (
  SELECT id FROM subscription
   WHERE application_id = %(application)s::uuid AND deleted_at IS NULL
     AND (%(subscription)s::uuid IS NULL OR id = %(subscription)s::uuid)
),
counted AS (
  SELECT a.subscription_id, a.event_id, false AS is_dead,
         CASE WHEN a.lane_id IS NULL THEN a.lease_until IS NOT NULL
              ELSE l.phase = 2 AND l.head_seq = a.lane_seq END AS is_running,
         a.tries + CASE WHEN l.head_seq = a.lane_seq THEN l.tries ELSE 0 END AS tries
    FROM subscriptions s
    JOIN request_attempt a ON a.subscription_id = s.id
    LEFT JOIN fifo_subscription_state l ON l.id = a.lane_id
   UNION ALL
  SELECT d.subscription_id, d.event_id, true, false, d.tries
    FROM subscriptions s
    JOIN dead_letter d ON d.subscription_id = s.id
),
matching AS (
  SELECT * FROM counted c
   WHERE %(labels)s::jsonb IS NULL
      OR EXISTS (SELECT FROM event e WHERE e.id = c.event_id AND e.labels @> %(labels)s::jsonb)
)
SELECT s.id,
       count(m) FILTER (WHERE NOT is_dead AND NOT is_running),
       count(m) FILTER (WHERE is_running),
       count(m) FILTER (WHERE is_dead),
       count(m),
       coalesce(sum(greatest(m.tries - 1, 0)), 0)::bigint
  FROM subscriptions s LEFT JOIN matching m ON m.subscription_id = s.id
 GROUP BY s.id
 ORDER BY s.id
