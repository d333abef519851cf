-- A subscription's lanes are served by another pool. Called by delivery.reconfigure, which holds the subscription's state.
WITH lane AS MATERIALIZED (
  SELECT id FROM fifo_subscription_state WHERE subscription_id = %(subscription)s::uuid ORDER BY key FOR NO KEY UPDATE
),
moved AS (
  UPDATE fifo_subscription_state l SET pool = %(pool)s FROM lane WHERE l.id = lane.id RETURNING 1
)
SELECT count(*) FROM moved
