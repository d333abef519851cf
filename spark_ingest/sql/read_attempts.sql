-- The attempts of one day, or of a part of it. Called by spark_ingest.attempts, which gives the columns in this order. Reads the
-- partition of the day alone, and of that, where it is worth it, by attempt_log_application or attempt_log_subscription.
COPY (
  SELECT (extract(epoch FROM l.ended_at) * 1000000)::bigint, l.id, l.delivery_id, l.application_id, l.subscription_id, l.lane_id,
         l.lane_seq, l.try_number, l.succeeded, l.accepted, l.error_name, l.http_status, l.elapsed_ms, l.worker,
         (extract(epoch FROM l.created_at) * 1000000)::bigint, (extract(epoch FROM l.due_at) * 1000000)::bigint,
         (extract(epoch FROM l.picked_at) * 1000000)::bigint, (extract(epoch FROM l.retry_at) * 1000000)::bigint
    FROM attempt_log l
   WHERE l.ended_at >= %(since)s AND l.ended_at < %(until)s
     AND (%(applications)s::uuid[] IS NULL OR l.application_id = ANY (%(applications)s::uuid[]))
     AND (%(subscriptions)s::uuid[] IS NULL OR l.subscription_id = ANY (%(subscriptions)s::uuid[]))
) TO STDOUT (FORMAT csv)
