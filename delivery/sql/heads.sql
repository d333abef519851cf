-- The deliveries at the head of leased lanes, with their events and how their subscriptions want to be served: in one
-- statement, because a lane waits for it between two webhooks. Called by delivery.queue. Served by
-- attempt_once_per_number, where each probe starts exactly at (lane, number), so that a lane never walks over what it
-- has already delivered, and by primary keys. A time-out that is raised meanwhile is for the next lease: no request may
-- outlive its own.
SELECT a.lane_id, a.lane_seq, a.id, a.event_id, a.subscription_id, claim.epoch, claim.tries,
       a.tries + claim.tries, a.created_at,
       greatest(a.due_at, claim.due_at), a.is_cancelled,
       -- A head may be due later than its lane, if its event is delayed. Measured here: a worker's clock may be off.
       greatest(0, extract(epoch FROM a.due_at - clock_timestamp()))::float,
       e.event_id, e.event_type, e.payload, e.payload_content_type, e.received_at, e.deliver_at, e.backoff_schedule,
       e.traceparent, e.tracestate,
       s.application_id, s.is_paused, s.method, s.url, s.headers, s.secret,
       CASE WHEN s.previous_secret_until > now() THEN s.previous_secret END, least(s.timeout_ms, claim.timeout_ms),
       s.fifo_mode, s.fifo_on_exhausted,
       s.retry_policy, s.rate_limit IS NOT NULL OR st.allowance IS NOT NULL, st.failures > 0
  FROM unnest(%(lanes)s::bigint[], %(numbers)s::bigint[], %(epochs)s::bigint[], %(tries)s::int[],
              %(timeouts)s::int[], %(due)s::timestamptz[]) AS claim (lane_id, lane_seq, epoch, tries, timeout_ms, due_at)
  JOIN request_attempt a USING (lane_id, lane_seq)
  JOIN event e ON e.id = a.event_id
  JOIN subscription s ON s.id = a.subscription_id
  JOIN subscription_state st ON st.subscription_id = a.subscription_id
