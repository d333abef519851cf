-- Of subscriptions whose consumers wait, those that have something due. Called by delivery.pull each second, once for all
-- streams of a process. Served by the primary key and lane_ready, in the pool that is the subscription's own.
SELECT st.subscription_id
  FROM unnest(%(subscriptions)s::uuid[]) AS given (id)
  JOIN subscription_state st ON st.subscription_id = given.id
 WHERE CASE WHEN st.fifo_mode THEN EXISTS (
              SELECT FROM fifo_subscription_state l
               WHERE l.pool = st.pool AND l.phase = 1 AND l.ready_at <= now() AND l.subscription_id = st.subscription_id)
            ELSE st.ready_at <= now() END
