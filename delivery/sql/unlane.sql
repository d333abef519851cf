-- All that waits in a subscription's lanes becomes work without order, and the lanes go. Called by delivery.reconfigure,
-- which holds the subscription's state. A head that is being sent is not due before its lease has ended.
WITH lane AS MATERIALIZED (
  SELECT * FROM fifo_subscription_state WHERE subscription_id = %(subscription)s::uuid ORDER BY key FOR UPDATE
),
freed AS (
  UPDATE request_attempt a
     SET lane_id = NULL, lane_seq = NULL,
         tries = a.tries + CASE WHEN a.lane_seq = lane.head_seq THEN lane.tries ELSE 0 END,
         due_at = CASE WHEN a.lane_seq = lane.head_seq THEN greatest(a.due_at, lane.ready_at, lane.lease_until)
                       ELSE a.due_at END
    FROM lane WHERE a.lane_id = lane.id
  RETURNING 1
),
gone AS (
  DELETE FROM fifo_subscription_state l USING lane WHERE l.id = lane.id
)
SELECT count(*) FROM freed
