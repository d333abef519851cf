-- What a consumer that pulls gets to see of the heads of lanes that it has just leased, in the order given; the columns are
-- those of lease_attempts.sql. Called by delivery.pull. Served by attempt_once_per_number and by primary keys.
SELECT a.lane_id, a.lane_seq, a.id, a.event_id, l.epoch, l.tries, a.tries + l.tries, a.created_at, a.due_at,
       a.is_cancelled,
       -- A head may be due later than its lane, if its event is delayed.
       greatest(0, extract(epoch FROM a.due_at - clock_timestamp()))::float,
       e.event_id, e.event_type, e.payload, e.payload_content_type, e.received_at, e.deliver_at, e.backoff_schedule,
       e.traceparent, e.tracestate, e.labels, e.metadata, e.occurred_at, l.lease_until
  FROM unnest(%(lanes)s::bigint[], %(numbers)s::bigint[], %(epochs)s::bigint[])
         WITH ORDINALITY AS given (lane_id, lane_seq, epoch, ordinal)
  JOIN request_attempt a USING (lane_id, lane_seq)
  JOIN fifo_subscription_state l ON l.id = given.lane_id AND l.epoch = given.epoch
  JOIN event e ON e.id = a.event_id
 ORDER BY given.ordinal
