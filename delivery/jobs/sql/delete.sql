-- Delete jobs if all of them are in one of these states, and else none. Says in which state each was found, and which keys
-- it leaves. Called by delivery.jobs.queue. Served by job_once_per_id.
WITH found AS MATERIALIZED (
  SELECT id, job_id, status, key FROM job
   WHERE queue_id = %(queue)s::uuid AND job_id = ANY (%(ids)s::text[])
   ORDER BY id
     FOR UPDATE
),
gone AS (
  DELETE FROM job USING found
   WHERE job.id = found.id AND NOT EXISTS (SELECT FROM found WHERE NOT status = ANY (%(states)s::text[]))
)
SELECT job_id, status, key FROM found
