-- Lanes that were parked because their subscription was paused go on. Called by delivery.reconfigure.
WITH parked AS MATERIALIZED (
  SELECT id FROM fifo_subscription_state
   WHERE subscription_id = %(subscription)s::uuid AND phase = 4 AND NOT is_paused
   ORDER BY key
   FOR NO KEY UPDATE
),
resumed AS (
  UPDATE fifo_subscription_state l
     SET phase = CASE WHEN head_seq > tail_seq THEN 0 ELSE 1 END,
         ready_at = CASE WHEN head_seq <= tail_seq THEN clock_timestamp() END, updated_at = clock_timestamp()
    FROM parked WHERE l.id = parked.id
  RETURNING 1
)
SELECT count(*) FROM resumed
