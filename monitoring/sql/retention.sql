-- How far the days of the attempt log reach ahead and back, and how old the oldest event is. Called by
-- monitoring.snapshot. From the catalogue, and by the primary key of event.
SELECT coalesce(max(day) - current_date, -1) AS hook0_attempt_log_days_ahead,
       coalesce(current_date - min(day), 0) AS hook0_attempt_log_days_kept,
       greatest(0, coalesce((SELECT extract(epoch FROM now() - received_at) FROM event ORDER BY id LIMIT 1), 0)
       )::float AS hook0_oldest_event_seconds
  FROM (SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') AS day FROM pg_inherits
         WHERE inhparent = 'attempt_log'::regclass AND inhrelid::regclass::text ~ '^attempt_log_[0-9]{8}$') AS partition
