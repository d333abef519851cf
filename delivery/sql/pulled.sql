-- What a consumer that pulls gets to see of the deliveries it has just leased, as delivery.claimed has them and more; in
-- the order given. Called by delivery.pull. A lane's is found by its number, served by attempt_once_per_number; everything
-- else by primary keys.
SELECT a.lane_id, a.lane_seq, a.id, a.event_id, a.subscription_id, given.epoch, coalesce(l.tries, a.tries),
       a.tries + coalesce(l.tries, 0), a.created_at, a.due_at, a.is_cancelled,
       -- A head may be due later than its lane, if its event is delayed.
       greatest(0, extract(epoch FROM a.due_at - clock_timestamp()))::float,
       e.event_id, e.event_type, e.payload, e.payload_content_type, e.received_at, e.backoff_schedule,
       e.traceparent, e.tracestate,
       s.application_id, s.is_paused, s.method, s.url, s.headers, s.secret, NULL::uuid, s.timeout_ms, s.fifo_mode,
       s.fifo_on_exhausted, s.retry_policy, false, false,
       e.labels, e.metadata, e.occurred_at, coalesce(a.lease_until, l.lease_until)
  FROM unnest(%(lanes)s::bigint[], %(numbers)s::bigint[], %(deliveries)s::uuid[], %(epochs)s::bigint[])
         WITH ORDINALITY AS given (lane_id, lane_seq, id, epoch, ordinal)
 CROSS JOIN LATERAL (
         SELECT * FROM request_attempt WHERE given.lane_id IS NULL AND id = given.id
         UNION ALL
         SELECT * FROM request_attempt WHERE lane_id = given.lane_id AND lane_seq = given.lane_seq
       ) AS a
  LEFT JOIN fifo_subscription_state l ON l.id = a.lane_id
  JOIN event e ON e.id = a.event_id
  JOIN subscription s ON s.id = a.subscription_id
 WHERE coalesce(a.epoch, l.epoch) = given.epoch
 ORDER BY given.ordinal
