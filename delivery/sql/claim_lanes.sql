-- Lease lanes whose head is due. Called by delivery.queue. Index order of lane_ready is claim order.
-- Blocked, paused, leased, empty and future lanes are outside the scanned range. The heads are read by a statement
-- of their own (heads.sql): under READ COMMITTED, a head committed while we locked its lane is invisible here.
-- `low` is the low-water mark that spares us walking over dead index entries (delivery.queue explains).
WITH due AS MATERIALIZED (
  SELECT id, ready_at FROM fifo_subscription_state
   WHERE pool = %(pool)s AND phase = 1 AND ready_at <= coalesce(%(now)s::timestamptz, now()) AND ready_at >= %(low)s::timestamptz
   ORDER BY ready_at, id
   LIMIT %(room)s
   FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE fifo_subscription_state l
   SET phase = 2, epoch = new_epoch(), ready_at = NULL, tries = l.tries + 1, updated_at = clock_timestamp(),
       lease_until = clock_timestamp() + s.timeout_ms * interval '1 ms' + %(margin)s * interval '1 s'
  FROM due, subscription s
 WHERE l.id = due.id AND s.id = l.subscription_id
RETURNING l.id, l.head_seq, l.epoch, l.tries, s.timeout_ms, due.ready_at
