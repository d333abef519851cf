-- The days of the attempt log: how far they reach ahead, and back. Called by monitoring.snapshot, from the catalogue.
SELECT coalesce(max(day) - current_date, -1) AS hook0_attempt_log_days_ahead,
       coalesce(current_date - min(day), 0) AS hook0_attempt_log_days_kept
  FROM (SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') AS day FROM pg_inherits
         WHERE inhparent = 'attempt_log'::regclass AND inhrelid::regclass::text ~ '^attempt_log_[0-9]{8}$') AS partition
