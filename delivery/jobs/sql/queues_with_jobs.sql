-- Which of these have jobs that can be assigned, or are gone. Called by delivery.jobs.streams. Served by job_claimable, one
-- probe each.
SELECT given.id::text
  FROM unnest(%(queues)s::text[]) AS given (id)
 WHERE EXISTS (
   SELECT FROM job
    WHERE queue_id = given.id::uuid AND has_turn AND status IN ('INITIAL_PENDING', 'FAILED_RETRY', 'UNKNOWN_RETRY'))
    OR NOT EXISTS (SELECT FROM job_queue WHERE id = given.id::uuid)
