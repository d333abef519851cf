-- Ask for permission to send, where a rate limit or a tripped circuit says how often. Called by delivery.queue for such
-- subscriptions alone. The answer: how many may go now, whether the one that may is a probe, and how long the others wait.
WITH asked AS (
  SELECT * FROM unnest(%(subscriptions)s::uuid[], %(wanted)s::int[]) AS a (subscription_id, wanted)
),
held AS MATERIALIZED (
  SELECT st.subscription_id, st.next_token_at, st.circuit_until, st.probe_until, st.allowance IS NOT NULL AS tripped,
         s.rate_limit, s.timeout_ms, asked.wanted, clock_timestamp() AS at
    FROM subscription_state st JOIN asked USING (subscription_id) JOIN subscription s ON s.id = st.subscription_id
   ORDER BY st.subscription_id
   FOR NO KEY UPDATE OF st
),
granted AS MATERIALIZED (
  SELECT *, least(
           rate_allows(rate_limit, next_token_at, at),
           CASE WHEN NOT tripped THEN wanted WHEN circuit_until > at OR probe_until > at THEN 0 ELSE 1 END,
           wanted) AS n
    FROM held
),
spent AS (
  UPDATE subscription_state st
     SET next_token_at = greatest(g.next_token_at, g.at)
           + g.n * ((g.rate_limit ->> 'per_seconds')::float / (g.rate_limit ->> 'requests')::float) * interval '1 s',
         probe_until = CASE WHEN g.tripped AND g.n > 0
                            THEN g.at + g.timeout_ms * interval '1 ms' + %(margin)s * interval '1 s'
                            ELSE st.probe_until END
    FROM granted g WHERE st.subscription_id = g.subscription_id AND g.n > 0
)
SELECT subscription_id, n, tripped AND n > 0,
       CASE WHEN tripped AND circuit_until > at THEN extract(epoch FROM circuit_until - at)::float
            WHEN tripped THEN 1.0
            ELSE (rate_limit ->> 'per_seconds')::float / (rate_limit ->> 'requests')::float END
  FROM granted
