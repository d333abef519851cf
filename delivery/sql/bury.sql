-- Take the head out of its lane, and keep it as a dead letter. Called by delivery.lanes, under the lane's lock. Served by
-- attempt_once_per_number.
WITH gone AS (
  DELETE FROM request_attempt WHERE lane_id = %(lane)s AND lane_seq = %(number)s
  RETURNING *
)
INSERT INTO dead_letter (id, event_id, subscription_id, lane_id, lane_seq, reason, tries, created_at)
SELECT id, event_id, subscription_id, lane_id, lane_seq, 'skipped', tries + %(tries)s, created_at FROM gone
