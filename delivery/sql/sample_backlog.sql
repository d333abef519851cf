-- What waits of each subscription, up to a bound, and for how long the oldest of it has. Called by delivery.backlog once in
-- ten minutes; served by attempt_by_age, two short looks for each subscription.
INSERT INTO backlog_sample (subscription_id, slot, amount, age_seconds)
SELECT s.id, %(slot)s::timestamptz,
       (SELECT count(*)
          FROM (SELECT FROM request_attempt a WHERE a.subscription_id = s.id AND a.lease_until IS NULL
                 LIMIT %(most)s::integer) AS counted),
       greatest(0, extract(epoch FROM now() - oldest.created_at))
  FROM subscription s CROSS JOIN LATERAL (
    SELECT a.created_at FROM request_attempt a WHERE a.subscription_id = s.id AND a.lease_until IS NULL
     ORDER BY a.id LIMIT 1
  ) AS oldest
 WHERE s.deleted_at IS NULL
    ON CONFLICT DO NOTHING
