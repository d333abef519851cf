-- Lock subscriptions without order that have something due. Called by delivery.queue, first of four statements in one
-- transaction. Index order of subscription_ready is claim order; who was served goes to its end, so all take turns.
SELECT st.subscription_id,
       CASE WHEN s.is_paused OR st.circuit_until > now() OR st.probe_until > now() THEN 0
            ELSE greatest(0, least(s.max_in_flight - st.in_flight, st.allowance - st.in_flight, %(share)s,
                                   rate_allows(s.rate_limit, st.next_token_at, now()))) END,
       st.ready_at
  FROM subscription_state st JOIN subscription s ON s.id = st.subscription_id
 WHERE st.pool = %(pool)s AND st.ready_at <= coalesce(%(now)s::timestamptz, now()) AND st.ready_at >= %(low)s::timestamptz
 ORDER BY st.ready_at, st.subscription_id
 LIMIT %(subscriptions)s
 FOR NO KEY UPDATE OF st SKIP LOCKED
