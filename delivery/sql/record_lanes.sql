-- Record the ends of tries in lanes, in one statement: the lane moves, the delivery leaves, the log is written.
-- Called by delivery.queue. Fenced by the epoch: who comes after the lease was given to another changes the log alone.
-- Verdicts: done, dead and cancel advance the lane; retry and defer make it wait; block and park stop it. With `stay`,
-- the next head is leased to the same pump at once, so a lane's speed is its receiver's, not our polling's.
WITH result AS MATERIALIZED (
  SELECT *, verdict IN ('done', 'dead', 'cancel') AS leaves, verdict IN ('defer', 'park') AS unmade
    FROM jsonb_to_recordset(%(results)s::jsonb) AS r (
      delivery_id uuid, event_id bigint, subscription_id uuid, application_id uuid, lane_id bigint, lane_seq bigint,
      epoch bigint, verdict text, wait float, stay boolean, margin float, received_at timestamptz,
      attempt_id uuid, try_number smallint, error_name text, http_status smallint, response_headers jsonb,
      response_body text, elapsed_ms integer, worker text, created_at timestamptz, due_at timestamptz,
      picked_at timestamptz, reason text)
),
-- Whoever resumes a subscription changes this row first and its lanes after: a lane cannot be parked in between.
parked AS MATERIALIZED (
  SELECT id FROM subscription
   WHERE is_paused AND id IN (SELECT subscription_id FROM result WHERE verdict = 'park')
     FOR SHARE
),
held AS MATERIALIZED (
  SELECT l.*, r.leaves, r.unmade, r.verdict, r.wait, r.margin, r.delivery_id, r.received_at, r.lane_seq, s.timeout_ms,
         r.stay AND l.head_seq < l.tail_seq AS stays
    FROM fifo_subscription_state l JOIN result r ON r.lane_id = l.id JOIN subscription s ON s.id = l.subscription_id
   WHERE l.lease_until IS NOT NULL AND l.epoch = r.epoch AND l.head_seq = r.lane_seq
   ORDER BY l.subscription_id, l.key
   FOR NO KEY UPDATE OF l
),
step AS MATERIALIZED (
  SELECT *,
         CASE WHEN held.is_paused THEN 4
              WHEN verdict = 'block' THEN 3
              WHEN verdict = 'park' AND subscription_id IN (SELECT id FROM parked) THEN 4
              WHEN NOT leaves THEN 1
              WHEN head_seq = tail_seq THEN 0
              WHEN stays THEN 2
              ELSE 1 END AS next_phase
    FROM held
),
-- Every column comes from the row as we locked it. PostgreSQL checks constraints against the row as our snapshot has it,
-- before it notices that the row is newer: a mixture of both would be refused.
moved AS (
  UPDATE fifo_subscription_state l SET
    head_seq = s.head_seq + s.leaves::int,
    tail_seq = s.tail_seq,
    phase = s.next_phase,
    ready_at = CASE WHEN s.next_phase = 1
                    THEN clock_timestamp() + CASE WHEN s.leaves THEN 0 ELSE s.wait END * interval '1 s' END,
    lease_until = CASE WHEN s.next_phase = 2
                       THEN clock_timestamp() + s.timeout_ms * interval '1 ms' + s.margin * interval '1 s' END,
    epoch = CASE WHEN s.next_phase = 2 THEN new_epoch() ELSE s.epoch END,
    tries = CASE WHEN s.leaves THEN (s.next_phase = 2)::int ELSE s.tries - s.unmade::int END,
    since = CASE WHEN s.leaves THEN NULL WHEN s.unmade THEN s.since ELSE coalesce(s.since, clock_timestamp()) END,
    current_request_attempt_id = CASE WHEN NOT s.leaves THEN s.delivery_id END,
    last_completed_event_created_at =
      CASE WHEN s.leaves THEN s.received_at ELSE s.last_completed_event_created_at END,
    updated_at = clock_timestamp()
  FROM step s
  WHERE l.id = s.id
  RETURNING l.id AS lane_id, s.lane_seq, s.epoch AS claim, s.leaves, l.phase, l.head_seq, l.epoch, l.tries, s.timeout_ms
),
gone AS (
  DELETE FROM request_attempt a USING moved m
   WHERE a.lane_id = m.lane_id AND a.lane_seq = m.lane_seq AND m.leaves
),
buried AS (
  INSERT INTO dead_letter (id, event_id, subscription_id, lane_id, lane_seq, reason, tries, last_error,
                           last_http_status, created_at)
  SELECT r.delivery_id, r.event_id, r.subscription_id, r.lane_id, r.lane_seq, r.reason, r.try_number, r.error_name,
         r.http_status, r.created_at
    FROM result r WHERE r.verdict = 'dead' AND (r.lane_id, r.epoch) IN (SELECT m.lane_id, m.claim FROM moved m)
),
logged AS (
  INSERT INTO attempt_log (id, delivery_id, event_id, subscription_id, application_id, lane_id, lane_seq, try_number,
                           succeeded, accepted, error_name, http_status, response_headers, response_body, elapsed_ms, worker, created_at,
                           due_at, picked_at, ended_at, retry_at)
  SELECT r.attempt_id, r.delivery_id, r.event_id, r.subscription_id, r.application_id, r.lane_id, r.lane_seq, r.try_number,
         r.verdict = 'done', (r.lane_id, r.epoch) IN (SELECT m.lane_id, m.claim FROM moved m), r.error_name,
         r.http_status, r.response_headers,
         decode(r.response_body, 'base64'), r.elapsed_ms, r.worker, r.created_at, r.due_at, r.picked_at,
         clock_timestamp(), CASE WHEN r.verdict = 'retry' THEN clock_timestamp() + r.wait * interval '1 s' END
    FROM result r
   WHERE NOT r.unmade AND r.verdict <> 'cancel'
)
-- A pump's connection does not wait for the disk anyhow (delivery.database says why); nor does a consumer's.
SELECT lane_id, lane_seq, CASE WHEN phase = 2 THEN head_seq END, epoch, tries, timeout_ms
  FROM moved, set_config('synchronous_commit', 'off', true)
