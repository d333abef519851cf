-- When each job on the clock last went well; 0 is never. Called by monitoring.snapshot.
SELECT job AS task, every::float AS hook0_job_interval_seconds,
       coalesce(extract(epoch FROM round.succeeded_at), 0)::float AS hook0_job_last_success_timestamp_seconds
  FROM unnest(%(jobs)s::text[], %(intervals)s::float[]) AS j (job, every)
  LEFT JOIN job_round round USING (job)
