-- The events of leased deliveries without order. Called by delivery.queue. Served by the primary key.
SELECT e.id, e.event_id, e.event_type, e.payload, e.payload_content_type, e.received_at, e.deliver_at, e.backoff_schedule,
       e.traceparent, e.tracestate
  FROM unnest(%(events)s::bigint[]) AS wanted (id) JOIN event e USING (id)
