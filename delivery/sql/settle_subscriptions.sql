-- Count what was taken, and say when to look again: at once (at the end of the line; in a moment, where the rate limit
-- or a probe left no room), when the circuit may be probed, when the next delivery is due, or
-- NULL, when a request in flight ends (record_loose.sql) or the subscription is resumed (delivery.reconfigure).
-- Called by delivery.queue, in a new snapshot after lock_idle.sql: what a publisher committed before is seen here.
UPDATE subscription_state st
   SET in_flight = st.in_flight + p.taken,
       ready_at = CASE
         WHEN s.is_paused OR st.in_flight + p.taken >= least(s.max_in_flight, st.allowance) THEN NULL
         WHEN st.circuit_until > now() THEN st.circuit_until
         WHEN NOT p.idle THEN clock_timestamp() + CASE WHEN p.room = 0 THEN 100 ELSE 0 END * interval '1 ms'
         ELSE (
           WITH RECURSIVE class (priority) AS (
             (SELECT a.priority FROM request_attempt a
               WHERE a.subscription_id = st.subscription_id AND a.lane_id IS NULL AND a.lease_until IS NULL
               ORDER BY a.priority DESC LIMIT 1)
             UNION ALL
             SELECT (SELECT a.priority FROM request_attempt a
                      WHERE a.subscription_id = st.subscription_id AND a.lane_id IS NULL AND a.lease_until IS NULL
                        AND a.priority < class.priority
                      ORDER BY a.priority DESC LIMIT 1)
               FROM class WHERE class.priority IS NOT NULL
           )
           SELECT min((SELECT a.due_at FROM request_attempt a
                        WHERE a.subscription_id = st.subscription_id AND a.lane_id IS NULL AND a.lease_until IS NULL
                          AND a.priority = class.priority
                        ORDER BY a.due_at LIMIT 1))
             FROM class
         ) END
  FROM unnest(%(subscriptions)s::uuid[], %(rooms)s::int[], %(taken)s::int[], %(idle)s::bool[])
         AS p (subscription_id, room, taken, idle),
       subscription s
 WHERE st.subscription_id = p.subscription_id AND s.id = st.subscription_id
