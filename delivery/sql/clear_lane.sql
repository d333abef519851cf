-- Take some of the deliveries away that a lane's head has passed, and keep them as dead letters, or not. Called by
-- delivery.lanes after the head was moved, and by delivery.maintenance after whoever broke off. Nobody looks at them any
-- more, so the lane need not be held for as long as it takes. Served by attempt_once_per_number.
WITH passed AS MATERIALIZED (
  SELECT a.id FROM request_attempt a JOIN fifo_subscription_state l ON l.id = a.lane_id
   WHERE a.lane_id = %(lane)s::bigint AND a.lane_seq < l.head_seq
   ORDER BY a.lane_seq
   LIMIT %(most)s::int
   FOR UPDATE OF a SKIP LOCKED
),
gone AS (
  DELETE FROM request_attempt a USING passed WHERE a.id = passed.id
  RETURNING a.*
),
kept AS (
  INSERT INTO dead_letter (id, event_id, subscription_id, lane_id, lane_seq, reason, tries, created_at)
  SELECT id, event_id, subscription_id, lane_id, lane_seq, 'skipped', tries, created_at FROM gone WHERE %(keep)s::bool
)
SELECT count(*) FROM gone
