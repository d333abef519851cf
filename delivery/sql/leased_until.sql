-- Which of these leases of a subscription last, and until when. Called by delivery.pull. Served by primary keys.
SELECT a.id, given.epoch, coalesce(a.lease_until, l.lease_until)
  FROM unnest(%(deliveries)s::uuid[], %(epochs)s::bigint[]) AS given (id, epoch)
  JOIN request_attempt a USING (id)
  LEFT JOIN fifo_subscription_state l ON l.id = a.lane_id
 WHERE a.subscription_id = %(subscription)s::uuid AND coalesce(a.lease_until, l.lease_until) > clock_timestamp()
   AND CASE WHEN a.lane_id IS NULL THEN a.epoch = given.epoch
            ELSE l.phase = 2 AND l.epoch = given.epoch AND l.head_seq = a.lane_seq END
