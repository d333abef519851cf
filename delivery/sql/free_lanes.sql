-- Lanes whose heads were just called off go on at once, if they wait for another try or are blocked. Called by
-- delivery.dead_letters, in a transaction of its own: lanes are locked before deliveries everywhere. Served by the primary
-- key of deliveries and that of lanes.
WITH held AS MATERIALIZED (
  SELECT l.id FROM fifo_subscription_state l JOIN request_attempt a ON a.lane_id = l.id AND a.lane_seq = l.head_seq
   WHERE a.id = ANY (%(deliveries)s::uuid[]) AND a.is_cancelled AND l.phase IN (1, 3)
   ORDER BY l.subscription_id, l.key
   FOR NO KEY UPDATE OF l
)
UPDATE fifo_subscription_state l
   SET phase = 1, ready_at = clock_timestamp(), updated_at = clock_timestamp()
  FROM held
 WHERE l.id = held.id
RETURNING l.id
