-- The days in UTC that the log of attempts may have something of. Called by spark_ingest.attempts. Reads the catalog, and the
-- partition for days without one of their own, which is empty but for hours.
SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') AS day
  FROM pg_inherits
 WHERE inhparent = 'attempt_log'::regclass AND inhrelid::regclass::text ~ 'attempt_log_[0-9]{{8}}$'
 UNION
SELECT DISTINCT (ended_at AT TIME ZONE 'UTC')::date FROM attempt_log_default
 ORDER BY day
