-- Give back deliveries without order whose pump, or consumer, did not come back in time; how many of each subscription,
-- and whether it is pulled. Called by delivery.maintenance.
-- Served by attempt_leased. Rows are locked as everywhere: subscription states in id order, then deliveries.
WITH expired AS MATERIALIZED (
  SELECT id, subscription_id FROM request_attempt
   WHERE lease_until < coalesce(%(now)s::timestamptz, now())
   ORDER BY lease_until LIMIT 1000
),
state AS MATERIALIZED (
  SELECT subscription_id, pool, in_flight, ready_at FROM subscription_state
   WHERE subscription_id IN (SELECT subscription_id FROM expired)
   ORDER BY subscription_id
   FOR NO KEY UPDATE
),
freed AS (
  UPDATE request_attempt a SET lease_until = NULL, due_at = clock_timestamp(), epoch = NULL
    FROM expired JOIN state USING (subscription_id)
   WHERE a.id = expired.id AND a.lease_until < coalesce(%(now)s::timestamptz, now())
  RETURNING a.*
),
-- From the row as we locked it (record_lanes.sql says why).
counted AS (
  UPDATE subscription_state st
     SET in_flight = state.in_flight - f.lost, ready_at = least(state.ready_at, clock_timestamp())
    FROM (SELECT subscription_id, count(*) AS lost FROM freed GROUP BY subscription_id) AS f
    JOIN state USING (subscription_id)
   WHERE st.subscription_id = f.subscription_id
),
logged AS (
  INSERT INTO attempt_log (id, delivery_id, event_id, subscription_id, application_id, try_number, succeeded, accepted,
                           error_name, created_at, due_at, ended_at, retry_at)
  SELECT attempt_id(f.id, f.tries), f.id, f.event_id, f.subscription_id, s.application_id, f.tries, false, true,
         'E_WORKER_LOST', f.created_at, f.due_at, clock_timestamp(), clock_timestamp()
    FROM freed f JOIN subscription s ON s.id = f.subscription_id
)
SELECT subscription_id, pool < 0, count(*) FROM freed JOIN state USING (subscription_id) GROUP BY 1, 2
