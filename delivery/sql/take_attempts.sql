-- Lease due deliveries of picked subscriptions, highest priority first. Called by delivery.queue.
-- Served by attempt_claimable, one range per (subscription, priority): retries of the far future, whatever their
-- priority, are never walked over.
WITH picked AS MATERIALIZED (
  SELECT * FROM unnest(%(subscriptions)s::uuid[], %(rooms)s::int[]) AS p (subscription_id, room)
),
chosen AS MATERIALIZED (
  SELECT taken.id
    FROM picked CROSS JOIN LATERAL (
      WITH RECURSIVE class (priority) AS (
        (SELECT a.priority FROM request_attempt a
          WHERE a.subscription_id = picked.subscription_id AND a.lane_id IS NULL AND a.lease_until IS NULL
          ORDER BY a.priority DESC LIMIT 1)
        UNION ALL
        SELECT (SELECT a.priority FROM request_attempt a
                 WHERE a.subscription_id = picked.subscription_id AND a.lane_id IS NULL AND a.lease_until IS NULL
                   AND a.priority < class.priority
                 ORDER BY a.priority DESC LIMIT 1)
          FROM class WHERE class.priority IS NOT NULL
      )
      SELECT due.id
        FROM class CROSS JOIN LATERAL (
          SELECT a.id FROM request_attempt a
           WHERE a.subscription_id = picked.subscription_id AND a.lane_id IS NULL AND a.lease_until IS NULL
             AND a.priority = class.priority AND a.due_at <= coalesce(%(now)s::timestamptz, now())
           ORDER BY a.due_at, a.id
           LIMIT picked.room
           FOR NO KEY UPDATE SKIP LOCKED
        ) AS due
       LIMIT picked.room
    ) AS taken
)
UPDATE request_attempt a
   SET epoch = new_epoch(), tries = a.tries + 1,
       lease_until = clock_timestamp() + s.timeout_ms * interval '1 ms' + %(margin)s * interval '1 s'
  FROM chosen, subscription s
 WHERE a.id = chosen.id AND s.id = a.subscription_id
RETURNING a.lane_id, a.lane_seq, a.id, a.event_id, a.subscription_id, a.epoch, a.tries, a.tries, a.created_at,
          a.due_at, a.is_cancelled, 0.0::float, s.timeout_ms
