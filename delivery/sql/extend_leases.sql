-- Let leases last until so long from now; the answer is those that did. Called by delivery.finish. Served by primary keys.
-- Lanes are locked as everywhere, in (subscription, key) order.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest(%(deliveries)s::uuid[], %(epochs)s::bigint[]) AS g (id, epoch)
),
lane AS MATERIALIZED (
  SELECT l.id, a.id AS delivery_id, l.epoch
    FROM given JOIN request_attempt a USING (id)
    JOIN fifo_subscription_state l ON l.id = a.lane_id AND l.head_seq = a.lane_seq
   WHERE a.subscription_id = %(subscription)s::uuid AND l.phase = 2 AND l.epoch = given.epoch
   ORDER BY l.key
   FOR NO KEY UPDATE OF l
),
lanes AS (
  UPDATE fifo_subscription_state l SET lease_until = clock_timestamp() + %(lease)s * interval '1 s'
    FROM lane WHERE l.id = lane.id
  RETURNING lane.delivery_id, lane.epoch, l.lease_until
),
loose AS (
  UPDATE request_attempt a SET lease_until = clock_timestamp() + %(lease)s * interval '1 s'
    FROM given WHERE a.id = given.id AND a.epoch = given.epoch AND a.subscription_id = %(subscription)s::uuid
  RETURNING a.id, a.epoch, a.lease_until
)
SELECT * FROM lanes UNION ALL SELECT * FROM loose
