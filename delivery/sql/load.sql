-- What it takes to send: the event and the configuration of its subscription. Called by delivery.queue for both
-- kinds of claims. Primary keys only.
SELECT p.id, s.is_paused, e.event_id, e.event_type, e.payload, e.payload_content_type, e.received_at, e.backoff_schedule,
       s.method, s.url, s.headers, s.secret, s.timeout_ms, s.fifo_mode, s.fifo_on_exhausted, s.retry_policy,
       s.rate_limit IS NOT NULL OR st.allowance IS NOT NULL, st.failures > 0
  FROM unnest(%(ids)s::uuid[], %(events)s::bigint[], %(subscriptions)s::uuid[]) AS p (id, event_id, subscription_id)
  JOIN event e ON e.id = p.event_id
  JOIN subscription s ON s.id = p.subscription_id
  JOIN subscription_state st ON st.subscription_id = p.subscription_id
