-- Lanes that hold something, by phase and by how long their head has been failing. Called by monitoring.snapshot.
-- Served by lane_ready, lane_leased, lane_blocked and lane_paused, which leave out the empty ones: those are most.
WITH busy AS (
  SELECT 'waiting' AS phase, tail_seq - head_seq + 1 AS depth, since FROM fifo_subscription_state WHERE phase = 1
   UNION ALL
  SELECT 'running', tail_seq - head_seq + 1, since FROM fifo_subscription_state WHERE phase = 2
   UNION ALL
  SELECT 'blocked', tail_seq - head_seq + 1, since FROM fifo_subscription_state WHERE phase = 3
   UNION ALL
  SELECT 'paused', tail_seq - head_seq + 1, since FROM fifo_subscription_state WHERE phase = 4
),
aged AS (
  SELECT phase, depth, now() - since AS age,
         CASE WHEN since IS NULL THEN 'not'
              WHEN now() - since < interval '5 min' THEN 'under 5m'
              WHEN now() - since < interval '1 hour' THEN '5m to 1h'
              WHEN now() - since < interval '1 day' THEN '1h to 1d'
              ELSE 'over 1d' END AS held
    FROM busy
)
SELECT phase, held, count(aged.phase) AS hook0_lanes, coalesce(sum(depth), 0)::bigint AS hook0_lane_deliveries,
       greatest(0, coalesce(max(extract(epoch FROM age)), 0))::float AS hook0_lane_longest_held_seconds
  FROM unnest(ARRAY['waiting', 'running', 'blocked', 'paused']) AS p (phase)
 CROSS JOIN unnest(ARRAY['not', 'under 5m', '5m to 1h', '1h to 1d', 'over 1d']) AS h (held)
  LEFT JOIN aged USING (phase, held)
 GROUP BY phase, held
