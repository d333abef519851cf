-- Deliveries of a subscription that are under these leases, as delivery.claimed has them, but for their payloads. What was
-- leased anew since, or has ended, is not among them. Called by delivery.finish. Served by primary keys.
SELECT a.lane_id, a.lane_seq, a.id, a.event_id, a.subscription_id, given.epoch, coalesce(l.tries, a.tries),
       a.tries + coalesce(l.tries, 0), a.created_at, a.due_at, a.is_cancelled, 0.0::float,
       e.event_id, e.event_type, ''::bytea, e.payload_content_type, e.received_at, e.deliver_at, e.backoff_schedule,
       e.traceparent, e.tracestate,
       s.application_id, s.is_paused, s.method, s.url, s.headers, s.secret, NULL::uuid, s.timeout_ms, s.fifo_mode,
       s.fifo_on_exhausted, s.retry_policy, false, false
  FROM unnest(%(deliveries)s::uuid[], %(epochs)s::bigint[]) AS given (id, epoch)
  JOIN request_attempt a USING (id)
  JOIN event e ON e.id = a.event_id
  JOIN subscription s ON s.id = a.subscription_id
  LEFT JOIN fifo_subscription_state l ON l.id = a.lane_id
 WHERE a.subscription_id = %(subscription)s::uuid
   AND CASE WHEN a.lane_id IS NULL THEN a.epoch = given.epoch
            ELSE l.phase = 2 AND l.epoch = given.epoch AND l.head_seq = a.lane_seq END
