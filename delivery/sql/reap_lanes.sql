-- Give back lanes whose pump, or consumer, did not come back in time; how many of each subscription, and whether it is
-- pulled. Called by delivery.maintenance. Served by lane_leased.
-- The lost try counts, so that a payload that kills its worker ends in the policy instead of going round for ever.
WITH expired AS MATERIALIZED (
  SELECT id, updated_at AS picked_at FROM fifo_subscription_state
   WHERE phase = 2 AND lease_until < coalesce(%(now)s::timestamptz, now())
   ORDER BY lease_until LIMIT 1000
   FOR NO KEY UPDATE SKIP LOCKED
),
freed AS (
  UPDATE fifo_subscription_state l
     SET phase = CASE WHEN is_paused THEN 4 ELSE 1 END, ready_at = CASE WHEN NOT is_paused THEN clock_timestamp() END,
         lease_until = NULL, epoch = new_epoch(),
         since = coalesce(since, clock_timestamp()), updated_at = clock_timestamp()
    FROM expired WHERE l.id = expired.id
  RETURNING l.id, l.subscription_id, l.pool, l.head_seq, l.tries, expired.picked_at
),
logged AS (
  INSERT INTO attempt_log (id, delivery_id, event_id, subscription_id, application_id, lane_id, lane_seq, try_number,
                           succeeded, accepted, error_name, created_at, due_at, picked_at, ended_at, retry_at)
  SELECT attempt_id(a.id, a.tries + f.tries), a.id, a.event_id, a.subscription_id, s.application_id, a.lane_id,
         a.lane_seq, a.tries + f.tries, false, true, 'E_WORKER_LOST', a.created_at, a.due_at, f.picked_at,
         clock_timestamp(), clock_timestamp()
    FROM freed f JOIN request_attempt a ON a.lane_id = f.id AND a.lane_seq = f.head_seq
    JOIN subscription s ON s.id = a.subscription_id
)
SELECT subscription_id, pool < 0, count(*) FROM freed GROUP BY 1, 2
