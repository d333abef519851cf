-- Take deliveries out of a lane that its head has passed, and keep them as dead letters. Called by delivery.lanes, under
-- the lane's lock. Served by attempt_once_per_number.
WITH gone AS (
  DELETE FROM request_attempt WHERE lane_id = %(lane)s AND lane_seq < %(head)s
  RETURNING *
)
INSERT INTO dead_letter (id, event_id, subscription_id, lane_id, lane_seq, reason, tries, created_at)
SELECT id, event_id, subscription_id, lane_id, lane_seq, 'skipped',
       tries + CASE lane_seq WHEN %(first)s THEN %(tries)s ELSE 0 END, created_at
  FROM gone
