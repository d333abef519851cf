-- The events of leased deliveries. Called by delivery.queue for both kinds of claims. Served by the primary key.
SELECT e.id, e.event_id, e.event_type, e.payload, e.payload_content_type, e.received_at, e.backoff_schedule
  FROM unnest(%(events)s::bigint[]) AS wanted (id) JOIN event e USING (id)
