-- Keep the circuits of subscriptions whose endpoints failed, or answered again. Called by delivery.queue after a record,
-- for those alone. `circuit_after` outages in a row open it; it closes with the first answer of a probe, else the pause
-- doubles. Requests that were in flight when it opened do not count again.
WITH seen AS (
  SELECT * FROM unnest(%(subscriptions)s::uuid[], %(outages)s::int[], %(alive)s::bool[], %(probes)s::bool[])
    AS r (subscription_id, outages, alive, probe)
),
held AS MATERIALIZED (
  SELECT st.subscription_id, st.failures + seen.outages AS failures, seen.alive,
         NOT seen.alive AND st.failures + seen.outages >= %(circuit_after)s AND (seen.probe OR st.allowance IS NULL) AS opens,
         clock_timestamp() AS at
    FROM subscription_state st JOIN seen USING (subscription_id)
   ORDER BY st.subscription_id
   FOR NO KEY UPDATE OF st
)
UPDATE subscription_state st
   SET failures = CASE WHEN h.alive THEN 0 ELSE h.failures END,
       failing_since = CASE WHEN NOT h.alive THEN coalesce(st.failing_since, h.at) END,
       trips = CASE WHEN h.alive THEN 0 ELSE st.trips + h.opens::int END,
       allowance = CASE WHEN NOT h.alive AND (h.opens OR st.allowance IS NOT NULL) THEN 1 END,
       circuit_until = CASE WHEN h.alive THEN NULL
                            WHEN h.opens THEN h.at + least(%(longest)s, %(shortest)s * 2 ^ least(st.trips, 20)) * interval '1 s'
                            ELSE st.circuit_until END,
       probe_until = CASE WHEN h.alive OR h.opens THEN NULL ELSE st.probe_until END,
       ready_at = CASE WHEN h.alive AND st.allowance IS NOT NULL AND NOT st.fifo_mode THEN least(st.ready_at, h.at)
                       ELSE st.ready_at END
  FROM held h WHERE st.subscription_id = h.subscription_id
RETURNING st.subscription_id, h.opens, st.circuit_until
