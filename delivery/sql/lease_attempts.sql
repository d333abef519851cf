-- Lease due deliveries of one subscription without order to a consumer that pulls, highest priority first: those of the
-- events asked for, and no more than may be in flight. Called by delivery.pull. Served by the primary keys, and by
-- attempt_claimable, one range per priority, as in take_attempts.sql.
-- The state is locked before anything is leased, so consumers take turns. Who has waited for it sees the deliveries as
-- they were before; those that were leased meanwhile are looked at anew as they are locked, and passed by.
-- A lease that is lost in a crash of the database is a delivery that is handed out twice, which at-least-once allows:
-- leasing does not wait for the disk.
WITH RECURSIVE state AS MATERIALIZED (
  SELECT st.subscription_id, st.in_flight, s.max_in_flight,
         least(%(room)s, greatest(0, s.max_in_flight - st.in_flight)) AS room
    FROM subscription_state st JOIN subscription s ON s.id = st.subscription_id
   WHERE st.subscription_id = %(subscription)s::uuid AND NOT st.fifo_mode AND NOT s.is_paused
     FOR NO KEY UPDATE OF st
),
class (priority) AS (
  (SELECT a.priority FROM request_attempt a
    WHERE a.subscription_id = %(subscription)s::uuid AND a.lane_id IS NULL AND a.lease_until IS NULL
      AND (SELECT room FROM state) > 0
    ORDER BY a.priority DESC LIMIT 1)
  UNION ALL
  SELECT (SELECT a.priority FROM request_attempt a
           WHERE a.subscription_id = %(subscription)s::uuid AND a.lane_id IS NULL AND a.lease_until IS NULL
             AND a.priority < class.priority
           ORDER BY a.priority DESC LIMIT 1)
    FROM class WHERE class.priority IS NOT NULL
),
chosen AS MATERIALIZED (
  SELECT due.id
    FROM class CROSS JOIN LATERAL (
      SELECT a.id FROM request_attempt a
       WHERE a.subscription_id = %(subscription)s::uuid AND a.lane_id IS NULL AND a.lease_until IS NULL
         AND a.priority = class.priority AND a.due_at <= now()
         AND ((%(event_types)s::text[] IS NULL AND %(labels)s::jsonb IS NULL) OR EXISTS (
               SELECT FROM event e
                WHERE e.id = a.event_id
                  AND (%(event_types)s::text[] IS NULL OR e.event_type LIKE ANY (%(event_types)s::text[]))
                  AND (%(labels)s::jsonb IS NULL OR e.labels @> %(labels)s::jsonb)))
       ORDER BY a.due_at, a.id
       LIMIT (SELECT room FROM state)
       FOR NO KEY UPDATE SKIP LOCKED
    ) AS due
   LIMIT (SELECT room FROM state)
),
leased AS (
  UPDATE request_attempt a
     SET epoch = new_epoch(), tries = a.tries + 1, lease_until = clock_timestamp() + %(lease)s * interval '1 s'
    FROM chosen
   WHERE a.id = chosen.id
  RETURNING a.*
),
-- From the row as we locked it (record_lanes.sql says why). Whether nothing else is due is found in a new snapshot.
counted AS (
  UPDATE subscription_state st
     SET in_flight = state.in_flight + taken.n,
         ready_at = CASE WHEN state.in_flight + taken.n < state.max_in_flight THEN clock_timestamp() END
    FROM state, (SELECT count(*) AS n FROM leased) AS taken
   WHERE st.subscription_id = state.subscription_id AND taken.n > 0
)
SELECT a.lane_id, a.lane_seq, a.id, a.event_id, a.epoch, a.tries, a.tries, a.created_at, a.due_at, a.is_cancelled,
       0.0::float, e.event_id, e.event_type, e.payload, e.payload_content_type, e.received_at, e.deliver_at, e.backoff_schedule,
       e.traceparent, e.tracestate, e.labels, e.metadata, e.occurred_at, a.lease_until
  FROM leased a JOIN event e ON e.id = a.event_id, set_config('synchronous_commit', 'off', true)
 ORDER BY a.priority DESC, a.due_at, a.id
