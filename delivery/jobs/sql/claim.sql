-- Assign jobs, oldest first: so many at once, and no more than the stream has places left. How many those were, and whether
-- there is such a queue, is said beside each, and where there is none. Called by delivery.jobs.rows. Served by
-- job_claimable, whose order is this one, and job_in_stream.
WITH free AS MATERIALIZED (
  SELECT places, least(places, %(at_once)s::int) AS room, clock_timestamp() AS moment
    FROM (SELECT greatest(0, %(most)s::int - count(*))::int AS places FROM job WHERE stream = %(stream)s::uuid) AS taken
),
chosen AS MATERIALIZED (
  SELECT id FROM job
   WHERE queue_id = %(queue)s::uuid AND has_turn AND status IN ('INITIAL_PENDING', 'FAILED_RETRY', 'UNKNOWN_RETRY')
   ORDER BY priority DESC, coalesce(last_retry_at, created_at), id
   LIMIT (SELECT room FROM free)
     FOR NO KEY UPDATE SKIP LOCKED
),
assigned AS (
  UPDATE job
     SET status = 'RUNNING', assignee = %(assignee)s::text, assigned_at = moment, stream = %(stream)s::uuid,
         started_at = coalesce(started_at, moment),
         lease_until = moment + (SELECT lease_seconds FROM job_queue WHERE id = %(queue)s::uuid) * interval '1 s'
    FROM free
   WHERE job.id = ANY (ARRAY(SELECT id FROM chosen))  -- as an array: nobody knows the limit, and a join would expect many
  RETURNING job.*
)
SELECT job_id, status, type, definition, tags, key, priority, created_at, started_at, finalized_at, last_retry_at,
       assignee, assigned_at, lease_until, retry_count, retry_limit, error, result, percent, stage, events_count,
       places, EXISTS (SELECT FROM job_queue WHERE id = %(queue)s::uuid) AS is_there, true AS saw_all
  FROM free LEFT JOIN assigned ON true
 ORDER BY priority DESC, coalesce(last_retry_at, created_at), assigned.id
