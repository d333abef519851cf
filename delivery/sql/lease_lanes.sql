-- Lease lanes of one subscription to a consumer that pulls: those whose head is due and is of the events asked for. A lane
-- whose head is not is left alone, so nobody gets what stands behind it. Called by delivery.pull.
-- Served by lane_ready, whose order is claim order, in the pool that is the subscription's own (subscriptions.workers).
-- The heads are read by a statement of their own, as in claim_lanes.sql. A lease that is lost in a crash of the database
-- is a delivery that is handed out twice, which at-least-once allows: leasing does not wait for the disk.
WITH due AS MATERIALIZED (
  SELECT l.id, l.ready_at FROM fifo_subscription_state l
   WHERE l.pool = %(pool)s AND l.phase = 1 AND l.ready_at <= now() AND l.subscription_id = %(subscription)s::uuid
     AND ((%(event_types)s::text[] IS NULL AND %(labels)s::jsonb IS NULL) OR EXISTS (
           SELECT FROM request_attempt a JOIN event e ON e.id = a.event_id
            WHERE a.lane_id = l.id AND a.lane_seq = l.head_seq
              AND (%(event_types)s::text[] IS NULL OR e.event_type LIKE ANY (%(event_types)s::text[]))
              AND (%(labels)s::jsonb IS NULL OR e.labels @> %(labels)s::jsonb)))
   ORDER BY l.ready_at, l.id
   LIMIT %(room)s
   FOR NO KEY UPDATE OF l SKIP LOCKED
),
leased AS (
  UPDATE fifo_subscription_state l
     SET phase = 2, epoch = new_epoch(), ready_at = NULL, tries = l.tries + 1, updated_at = clock_timestamp(),
         lease_until = clock_timestamp() + %(lease)s * interval '1 s'
    FROM due
   WHERE l.id = due.id
  RETURNING l.id, l.head_seq, l.epoch, due.ready_at
)
SELECT id, head_seq, epoch FROM leased, set_config('synchronous_commit', 'off', true) ORDER BY ready_at, id
