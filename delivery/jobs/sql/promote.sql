-- Give the turn of keys that nobody has it of to the job that waits longest. Called by delivery.jobs.rows, which holds the
-- locks of the keys. Served by job_one_at_a_time_per_key and job_waits_for_its_turn, a probe of each for every key.
WITH next AS (
  UPDATE job SET has_turn = true
    FROM (SELECT DISTINCT key FROM unnest(%(keys)s::text[]) AS k (key)) AS given
   CROSS JOIN LATERAL (
      SELECT w.id FROM job w
       WHERE w.queue_id = %(queue)s::uuid AND w.key = given.key AND w.status = 'INITIAL_PENDING' AND NOT w.has_turn
       ORDER BY w.id
       LIMIT 1
   ) AS first
   WHERE job.id = first.id AND NOT EXISTS (
      SELECT FROM job h
       WHERE h.queue_id = %(queue)s::uuid AND h.key = given.key AND h.key IS NOT NULL AND h.has_turn
         AND NOT h.status IN ('COMPLETED', 'STOPPED', 'UNSCHEDULED', 'UNKNOWN_STOPPED'))
  RETURNING job.tags
)
SELECT pg_notify('hook0_work', jobs_word(%(queue)s::uuid, jsonb_agg(DISTINCT to_jsonb(tags)), NULL))
  FROM next HAVING count(*) > 0
