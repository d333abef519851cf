-- The deliveries at the head of leased lanes. Called by delivery.queue. Served by attempt_once_per_number: each
-- probe starts exactly at (lane, number), so a lane never walks over what it has already delivered.
SELECT a.id, a.event_id, a.subscription_id, a.lane_id, a.lane_seq, claim.epoch, claim.tries,
       a.tries + claim.tries, a.created_at,
       greatest(a.due_at, claim.due_at), a.is_cancelled,
       -- A head may be due later than its lane, if its event is delayed. Measured here: a worker's clock may be off.
       greatest(0, extract(epoch FROM a.due_at - clock_timestamp()))::float
  FROM unnest(%(lanes)s::bigint[], %(numbers)s::bigint[], %(epochs)s::bigint[], %(tries)s::int[],
              %(due)s::timestamptz[]) AS claim (lane_id, lane_seq, epoch, tries, due_at)
  JOIN request_attempt a USING (lane_id, lane_seq)
