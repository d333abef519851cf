-- Lease due deliveries of one subscription without order to a consumer that pulls, highest priority first: those of the
-- events asked for. Called by delivery.pull, which holds the subscription's state.
-- Served by attempt_claimable, one range per priority, as in take_attempts.sql.
WITH RECURSIVE class (priority) AS (
  (SELECT a.priority FROM request_attempt a
    WHERE a.subscription_id = %(subscription)s::uuid AND a.lane_id IS NULL AND a.lease_until IS NULL
    ORDER BY a.priority DESC LIMIT 1)
  UNION ALL
  SELECT (SELECT a.priority FROM request_attempt a
           WHERE a.subscription_id = %(subscription)s::uuid AND a.lane_id IS NULL AND a.lease_until IS NULL
             AND a.priority < class.priority
           ORDER BY a.priority DESC LIMIT 1)
    FROM class WHERE class.priority IS NOT NULL
),
chosen AS MATERIALIZED (
  SELECT due.id
    FROM class CROSS JOIN LATERAL (
      SELECT a.id FROM request_attempt a
       WHERE a.subscription_id = %(subscription)s::uuid AND a.lane_id IS NULL AND a.lease_until IS NULL
         AND a.priority = class.priority AND a.due_at <= now()
         AND ((%(event_types)s::text[] IS NULL AND %(labels)s::jsonb IS NULL) OR EXISTS (
               SELECT FROM event e
                WHERE e.id = a.event_id
                  AND (%(event_types)s::text[] IS NULL OR e.event_type LIKE ANY (%(event_types)s::text[]))
                  AND (%(labels)s::jsonb IS NULL OR e.labels @> %(labels)s::jsonb)))
       ORDER BY a.due_at, a.id
       LIMIT %(room)s
       FOR NO KEY UPDATE SKIP LOCKED
    ) AS due
   LIMIT %(room)s
),
leased AS (
  UPDATE request_attempt a
     SET epoch = new_epoch(), tries = a.tries + 1, lease_until = clock_timestamp() + %(lease)s * interval '1 s'
    FROM chosen
   WHERE a.id = chosen.id
  RETURNING a.id, a.epoch, a.priority, a.due_at
)
SELECT NULL::bigint, NULL::bigint, id, epoch FROM leased ORDER BY priority DESC, due_at, id
