-- For how long the oldest that a consumer could have has waited for one to ask. Called by monitoring.snapshot. Pools that
-- are pulled are negative, and each has a subscription of its own (subscriptions.workers). Served by lane_ready, two probes
-- for each pool in which lanes wait, and by subscription_ready.
WITH RECURSIVE pool (id) AS (
  (SELECT pool FROM fifo_subscription_state WHERE phase = 1 AND pool < 0 ORDER BY pool LIMIT 1)
   UNION ALL
  SELECT (SELECT l.pool FROM fifo_subscription_state l
           WHERE phase = 1 AND l.pool < 0 AND l.pool > pool.id ORDER BY l.pool LIMIT 1)
    FROM pool WHERE id IS NOT NULL
)
SELECT 'fifo' AS "order", greatest(0, coalesce(max(extract(epoch FROM now() - (
         SELECT ready_at FROM fifo_subscription_state l WHERE l.pool = pool.id AND phase = 1 ORDER BY ready_at LIMIT 1
       ))), 0))::float AS hook0_consumer_oldest_due_seconds
  FROM pool WHERE id IS NOT NULL
 UNION ALL
SELECT 'none', greatest(0, coalesce(extract(epoch FROM now() - min(st.ready_at)), 0))::float
  FROM subscription_state st JOIN subscription s ON s.id = st.subscription_id
 WHERE st.pool < 0 AND st.ready_at IS NOT NULL AND NOT s.is_paused
