-- Lanes of a subscription whose head was put off before its first try go to the front: the rate limit or the circuit that held
-- them may be gone. Whoever claims too early puts them off again. Called by delivery.reconfigure. Served by lane_once_per_key.
WITH waiting AS MATERIALIZED (
  SELECT id FROM fifo_subscription_state
   WHERE subscription_id = %(subscription)s::uuid AND phase = 1 AND tries = 0 AND ready_at > clock_timestamp()
   ORDER BY key
   FOR NO KEY UPDATE
),
hurried AS (
  UPDATE fifo_subscription_state l SET ready_at = clock_timestamp() FROM waiting
   WHERE l.id = waiting.id
  RETURNING 1
)
SELECT count(*) FROM hurried
