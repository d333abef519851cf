-- When each job on the clock last went well; where it never did, since when it is known. Called by monitoring.snapshot.
WITH known AS (
  INSERT INTO job_round (job) SELECT unnest(%(jobs)s::text[])
  ON CONFLICT DO NOTHING
  RETURNING job, known_at
)
SELECT job AS task, every::float AS hook0_job_interval_seconds,
       extract(epoch FROM coalesce(round.succeeded_at, round.known_at, known.known_at))::float AS hook0_job_last_success_timestamp_seconds
  FROM unnest(%(jobs)s::text[], %(intervals)s::float[]) AS j (job, every)
  LEFT JOIN job_round round USING (job)
  LEFT JOIN known USING (job)
