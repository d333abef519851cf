-- Deliveries without order that a consumer is done with leave, all in one statement, because nothing of the outcome is to
-- be decided. Called by delivery.finish; record_loose.sql is for what has failed. Served by primary keys. Fenced by the
-- epoch, which only a leased delivery has. The state is locked before the first delivery is touched, as everywhere.
-- Returned is what delivery.finish tells others of them. Who waits for room in a stream is told, as by notify.sql.
-- The commit does not wait for the disk: what a crash takes away is handed out again.
WITH state AS MATERIALIZED (
  SELECT st.subscription_id, st.in_flight, st.ready_at, s.application_id,
         st.in_flight >= least(s.max_in_flight, st.allowance) AS saturated
    FROM subscription_state st JOIN subscription s ON s.id = st.subscription_id
   WHERE st.subscription_id = %(subscription)s::uuid
     FOR NO KEY UPDATE OF st
),
given AS MATERIALIZED (
  SELECT * FROM unnest(%(deliveries)s::uuid[], %(epochs)s::bigint[], %(leased)s::timestamptz[]) AS g (id, epoch, leased_at)
   WHERE (SELECT count(*) FROM state) > 0
),
gone AS (
  DELETE FROM request_attempt a USING given g
   WHERE a.id = g.id AND a.epoch = g.epoch AND a.subscription_id = %(subscription)s::uuid AND a.lane_id IS NULL
  RETURNING a.id, a.event_id, a.subscription_id, a.epoch, a.tries, a.created_at, a.due_at,
            least(greatest(g.leased_at, a.created_at), clock_timestamp()) AS picked_at
),
-- From the row as we locked it (record_lanes.sql says why).
counted AS (
  UPDATE subscription_state st
     SET in_flight = state.in_flight - ended.n,
         ready_at = least(state.ready_at, CASE WHEN state.saturated THEN clock_timestamp() END)
    FROM state, (SELECT count(*) AS n FROM gone) AS ended
   WHERE st.subscription_id = state.subscription_id AND ended.n > 0
),
logged AS (
  INSERT INTO attempt_log (id, delivery_id, event_id, subscription_id, application_id, try_number, succeeded, accepted,
                           worker, created_at, due_at, picked_at, ended_at)
  SELECT attempt_id(id, tries), id, event_id, subscription_id, application_id,
         tries, true, true, %(by)s::text, created_at, due_at, picked_at, clock_timestamp()
    FROM gone JOIN state USING (subscription_id)
),
told AS (
  SELECT pg_notify('hook0_work', concat_ws(' ', %(subscription)s::text, string_agg(replace(id::text, '-', ''), ' ')))
    FROM gone HAVING count(*) > 0
)
SELECT gone.id, gone.event_id, gone.epoch, gone.tries, gone.created_at, gone.due_at,
       e.event_id, e.received_at, e.deliver_at, gone.picked_at
  FROM gone JOIN event e ON e.id = gone.event_id,
       set_config('synchronous_commit', 'off', true),
       (SELECT count(pg_notify) FROM told) AS heard
