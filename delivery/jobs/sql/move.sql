-- Move jobs along the transitions of one operation, as delivery.jobs.states has them; what is in another state stays. Says
-- of each job that is there in which state it was found, and in which it is now if it was moved. Called by
-- delivery.jobs.rows. Served by job_once_per_id.
WITH found AS MATERIALIZED (
  SELECT id, job_id, status, key, tags, stream, retry_count, retry_limit + %(more_retries)s::int AS retry_limit
    FROM job
   WHERE queue_id = %(queue)s::uuid AND job_id = ANY (%(ids)s::text[])
     AND (%(assignee)s::text IS NULL OR assignee = %(assignee)s::text)
     AND (%(stream)s::uuid IS NULL OR stream = %(stream)s::uuid)
     AND (NOT %(is_over)s::boolean OR lease_until <= clock_timestamp())
   ORDER BY id
     FOR NO KEY UPDATE
),
due AS MATERIALIZED (
  SELECT found.*, step.frees,
         step.retries AND NOT (step.instead IS NOT NULL AND found.retry_count >= found.retry_limit IS TRUE) AS retries,
         CASE WHEN found.retry_count >= found.retry_limit THEN coalesce(step.instead, step.becomes)
              ELSE step.becomes END AS becomes
    FROM found
    JOIN unnest(%(states)s::text[], %(becomes)s::text[], %(instead)s::text[], %(frees)s::boolean[], %(retries)s::boolean[])
         AS step (status, becomes, instead, frees, retries) USING (status)
),
moved AS (
  UPDATE job
     SET status = due.becomes,
         finalized_at = CASE WHEN due.becomes = ANY (%(ended)s::text[]) THEN clock_timestamp() END,
         retry_count = due.retry_count + due.retries::int,
         retry_limit = due.retry_limit,
         last_retry_at = CASE WHEN due.retries THEN clock_timestamp() ELSE last_retry_at END,
         stream = CASE WHEN NOT due.frees THEN job.stream END,
         lease_until = CASE WHEN NOT due.becomes = ANY (%(assigned)s::text[]) THEN NULL
                            WHEN %(renews)s::boolean THEN clock_timestamp() + q.lease_seconds * interval '1 s'
                            ELSE lease_until END,
         error = coalesce(%(error)s::text, error),
         result = coalesce(%(result)s::bytea, result),
         percent = coalesce(%(percent)s::smallint, percent),
         stage = coalesce(%(stage)s::text, stage),
         events_count = coalesce(%(events_count)s::int, events_count)
    FROM due, job_queue q
   WHERE job.id = due.id AND q.id = %(queue)s::uuid
)
SELECT found.job_id, found.status, due.becomes, found.key, (
         SELECT pg_notify('hook0_work', jobs_word(
                  %(queue)s::uuid,
                  jsonb_agg(DISTINCT to_jsonb(tags)) FILTER (WHERE becomes = ANY (%(eligible)s::text[])),
                  jsonb_agg(DISTINCT stream) FILTER (WHERE frees AND stream IS NOT NULL)))
           FROM due
         HAVING bool_or(becomes = ANY (%(eligible)s::text[])) OR bool_or(frees AND stream IS NOT NULL)
       )
  FROM found LEFT JOIN due USING (id)
