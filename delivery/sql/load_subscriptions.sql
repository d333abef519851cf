-- How the subscriptions of leased deliveries want to be served, and how their endpoints are. Called by delivery.queue, once
-- for all deliveries of a claim that go to the same one. Served by the primary keys. The
-- time-out is the one that the lease was made for, as in heads.sql.
SELECT s.id, s.application_id, s.is_paused, s.method, s.url, s.headers, s.secret,
       CASE WHEN s.previous_secret_until > now() THEN s.previous_secret END, least(s.timeout_ms, wanted.timeout_ms),
       s.fifo_mode, s.fifo_on_exhausted, s.retry_policy, s.rate_limit IS NOT NULL OR st.allowance IS NOT NULL, st.failures > 0
  FROM unnest(%(subscriptions)s::uuid[], %(timeouts)s::int[]) AS wanted (id, timeout_ms)
  JOIN subscription s USING (id)
  JOIN subscription_state st ON st.subscription_id = s.id
