-- Try the heads of a subscription's blocked lanes again, spread over a while so that an endpoint that has just come back
-- is not trampled. Called by delivery.lanes. Lanes are locked as everywhere, in (subscription, key) order.
WITH blocked AS MATERIALIZED (
  SELECT id, head_seq, tries FROM fifo_subscription_state
   WHERE subscription_id = %(subscription)s::uuid AND phase = 3
   ORDER BY subscription_id, key
   FOR NO KEY UPDATE
),
-- No two tries of a delivery have the same number.
renewed AS (
  UPDATE request_attempt a SET tries = a.tries + blocked.tries
    FROM blocked WHERE a.lane_id = blocked.id AND a.lane_seq = blocked.head_seq
)
UPDATE fifo_subscription_state l
   SET phase = CASE WHEN is_paused THEN 4 ELSE 1 END,
       ready_at = CASE WHEN NOT is_paused THEN clock_timestamp() + random() * %(over)s * interval '1 s' END,
       tries = 0, since = NULL, epoch = new_epoch(), updated_at = clock_timestamp()
  FROM blocked WHERE l.id = blocked.id
