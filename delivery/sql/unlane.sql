-- All that waits in a subscription's lanes becomes work without order, and the lanes go. Called by delivery.reconfigure,
-- which holds the subscription's state. A head that is being sent is not due before its lease has ended.
WITH lane AS MATERIALIZED (
  SELECT * FROM fifo_subscription_state WHERE subscription_id = %(subscription)s::uuid ORDER BY key FOR UPDATE
),
-- What its head has passed, because an operator said so, is not work any more (clear_lane.sql).
passed AS (
  DELETE FROM request_attempt a USING lane WHERE a.lane_id = lane.id AND a.lane_seq < lane.head_seq
  RETURNING a.*
),
buried AS (
  INSERT INTO dead_letter (id, event_id, subscription_id, lane_id, lane_seq, reason, tries, created_at)
  SELECT id, event_id, subscription_id, lane_id, lane_seq, 'skipped', tries, created_at FROM passed
),
freed AS (
  UPDATE request_attempt a
     SET lane_id = NULL, lane_seq = NULL,
         tries = a.tries + CASE WHEN a.lane_seq = lane.head_seq THEN lane.tries ELSE 0 END,
         due_at = CASE WHEN a.lane_seq = lane.head_seq THEN greatest(a.due_at, lane.ready_at, lane.lease_until)
                       ELSE a.due_at END
    FROM lane WHERE a.lane_id = lane.id AND a.lane_seq >= lane.head_seq
  RETURNING 1
),
gone AS (
  DELETE FROM fifo_subscription_state l USING lane WHERE l.id = lane.id
)
SELECT count(*) FROM freed
