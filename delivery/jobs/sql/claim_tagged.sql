-- The same for jobs that have all the tags. Common tags are met on the way, among the oldest jobs of all; what is not
-- found there, or if asked for `everything`, is looked up by the tags. Called by delivery.jobs.rows. Served by
-- job_claimable and job_tags_claimable.
WITH free AS MATERIALIZED (
  SELECT places, least(places, %(at_once)s::int) AS room, clock_timestamp() AS moment
    FROM (SELECT greatest(0, %(most)s::int - count(*))::int AS places FROM job WHERE stream = %(stream)s::uuid) AS taken
),
oldest AS MATERIALIZED (
  SELECT id, tags FROM job
   WHERE queue_id = %(queue)s::uuid AND has_turn AND status IN ('INITIAL_PENDING', 'FAILED_RETRY', 'UNKNOWN_RETRY')
   ORDER BY priority DESC, coalesce(last_retry_at, created_at), id
   LIMIT (SELECT CASE WHEN places > 0 AND NOT %(everything)s::boolean THEN 200 + room ELSE 0 END FROM free)
),
near AS MATERIALIZED (SELECT id FROM oldest WHERE tags @> %(tags)s::text[]),
looked AS MATERIALIZED (
  SELECT places > 0 AND (%(everything)s::boolean OR (SELECT count(*) FROM near) < room) AS far FROM free
),
far AS MATERIALIZED (
  SELECT id FROM job
   WHERE (SELECT far FROM looked) AND queue_id = %(queue)s::uuid AND tags @> %(tags)s::text[]
     AND has_turn AND status IN ('INITIAL_PENDING', 'FAILED_RETRY', 'UNKNOWN_RETRY')
),
chosen AS MATERIALIZED (
  SELECT id FROM job
   WHERE id = ANY (ARRAY(SELECT id FROM near UNION SELECT id FROM far))
     AND has_turn AND status IN ('INITIAL_PENDING', 'FAILED_RETRY', 'UNKNOWN_RETRY')
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
   WHERE job.id = ANY (ARRAY(SELECT id FROM chosen))
  RETURNING job.*
)
SELECT job_id, status, type, definition, assigned.tags, key, priority, created_at, started_at, finalized_at, last_retry_at,
       assignee, assigned_at, lease_until, retry_count, retry_limit, error, result, percent, stage, events_count,
       places, EXISTS (SELECT FROM job_queue WHERE id = %(queue)s::uuid) AS is_there, far OR places = 0 AS saw_all
  FROM free CROSS JOIN looked LEFT JOIN assigned ON true
 ORDER BY priority DESC, coalesce(last_retry_at, created_at), assigned.id
