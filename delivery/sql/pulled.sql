-- What a consumer that pulls gets to see of the deliveries it has just leased. Called by delivery.pull.
-- Served by primary keys.
SELECT a.id, e.payload, e.labels, e.metadata, e.occurred_at, coalesce(a.lease_until, l.lease_until)
  FROM unnest(%(deliveries)s::uuid[]) AS given (id)
  JOIN request_attempt a USING (id)
  JOIN event e ON e.id = a.event_id
  LEFT JOIN fifo_subscription_state l ON l.id = a.lane_id
