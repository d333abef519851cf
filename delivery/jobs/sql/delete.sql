-- Delete jobs if all of them are in one of these states, and else none. Says in which state each was found, and wakes the
-- streams in which some still held a place. Called by delivery.jobs.rows. Served by job_once_per_id.
WITH found AS MATERIALIZED (
  SELECT id, job_id, status, stream FROM job
   WHERE queue_id = %(queue)s::uuid AND job_id = ANY (%(ids)s::text[])
   ORDER BY id
     FOR UPDATE
),
gone AS (
  DELETE FROM job USING found
   WHERE job.id = found.id AND NOT EXISTS (SELECT FROM found WHERE NOT status = ANY (%(states)s::text[]))
  RETURNING found.stream
)
SELECT job_id, status, (
         SELECT pg_notify('hook0_work', jobs_word(%(queue)s::uuid, NULL, jsonb_agg(DISTINCT stream)))
           FROM gone WHERE stream IS NOT NULL HAVING count(*) > 0
       )
  FROM found
