-- Record the ends of tries of subscriptions without order, in one statement. Called by delivery.queue.
-- Fenced by the epoch, which only a leased delivery has: to ask for the lease as well would tempt the planner to read all
-- that is in flight, by attempt_leased, for each result. Rows are locked as everywhere: subscription states in id order,
-- then deliveries.
WITH result AS MATERIALIZED (
  SELECT *, verdict IN ('done', 'dead', 'cancel') AS leaves
    FROM jsonb_to_recordset(%(results)s::jsonb) AS r (
      delivery_id uuid, event_id bigint, subscription_id uuid, application_id uuid, epoch bigint, verdict text,
      wait float, attempt_id uuid, try_number smallint, error_name text, http_status smallint, response_headers jsonb,
      response_body text, elapsed_ms integer, worker text, created_at timestamptz, due_at timestamptz,
      picked_at timestamptz, reason text)
),
state AS MATERIALIZED (
  SELECT st.subscription_id, st.in_flight, st.ready_at, st.allowance FROM subscription_state st
   WHERE st.subscription_id IN (SELECT subscription_id FROM result)
   ORDER BY st.subscription_id
   FOR NO KEY UPDATE
),
-- (Counting the states locks them all before the first delivery is touched.)
gone AS (
  DELETE FROM request_attempt a USING result r
   WHERE (SELECT count(*) FROM state) > 0
     AND a.id = r.delivery_id AND a.epoch = r.epoch AND r.leaves
  RETURNING a.id, r.epoch, a.subscription_id, NULL::timestamptz AS due_at
),
kept AS (
  UPDATE request_attempt a
     SET lease_until = NULL, epoch = NULL, due_at = clock_timestamp() + r.wait * interval '1 s',
         tries = a.tries - (r.verdict = 'defer')::int
    FROM result r
   WHERE (SELECT count(*) FROM state) > 0
     AND a.id = r.delivery_id AND a.epoch = r.epoch AND NOT r.leaves
  RETURNING a.id, r.epoch, a.subscription_id, a.due_at
),
moved AS (
  SELECT * FROM gone UNION ALL SELECT * FROM kept
),
-- From the row as we locked it (record_lanes.sql says why).
counted AS (
  UPDATE subscription_state st
     SET in_flight = state.in_flight - m.ended,
         ready_at = least(state.ready_at, m.due_at,
                          CASE WHEN state.in_flight >= least(s.max_in_flight, state.allowance) THEN clock_timestamp() END)
    FROM (SELECT subscription_id, count(*) AS ended, min(due_at) AS due_at FROM moved GROUP BY subscription_id) AS m
    JOIN state USING (subscription_id)
    JOIN subscription s ON s.id = m.subscription_id
   WHERE st.subscription_id = m.subscription_id
),
buried AS (
  INSERT INTO dead_letter (id, event_id, subscription_id, reason, tries, last_error, last_http_status, created_at)
  SELECT r.delivery_id, r.event_id, r.subscription_id, r.reason, r.try_number, r.error_name, r.http_status, r.created_at
    FROM result r WHERE r.verdict = 'dead' AND (r.delivery_id, r.epoch) IN (SELECT m.id, m.epoch FROM moved m)
),
logged AS (
  INSERT INTO attempt_log (id, delivery_id, event_id, subscription_id, application_id, try_number, succeeded, accepted,
                           error_name, http_status, response_headers, response_body, elapsed_ms, worker, created_at, due_at,
                           picked_at, ended_at, retry_at)
  SELECT r.attempt_id, r.delivery_id, r.event_id, r.subscription_id, r.application_id, r.try_number, r.verdict = 'done',
         (r.delivery_id, r.epoch) IN (SELECT m.id, m.epoch FROM moved m), r.error_name, r.http_status,
         r.response_headers, decode(r.response_body, 'base64'), r.elapsed_ms, r.worker, r.created_at, r.due_at,
         r.picked_at, clock_timestamp(),
         CASE WHEN r.verdict = 'retry' THEN clock_timestamp() + r.wait * interval '1 s' END
    FROM result r
   WHERE r.verdict NOT IN ('defer', 'cancel')
)
-- A pump's connection does not wait for the disk anyhow (delivery.database says why); nor does a consumer's.
SELECT id FROM moved, set_config('synchronous_commit', 'off', true)
