-- Jobs that are not over, by queue and state: of the first queues one by one, and of all others together; up to 10,000
-- of a state are counted. And for how long the oldest has waited. Called by monitoring.snapshot. Served by job_by_state.
WITH queue AS (
  SELECT id, CASE WHEN row_number() OVER (ORDER BY created_at, id) <= %(most)s THEN id::text ELSE 'other' END AS name
    FROM job_queue
)
SELECT queue.name AS job_queue_id, state, sum(counted.amount)::bigint AS hook0_queue_jobs,
       greatest(0, coalesce(max(extract(epoch FROM now() - oldest.created_at)), 0))::float AS hook0_queue_jobs_oldest_seconds
  FROM queue
 CROSS JOIN unnest(ARRAY['INITIAL_PENDING', 'RUNNING', 'FAILED_RETRY', 'UNKNOWN_RETRY', 'CANCELLING', 'EXHAUSTED']) AS s (state)
 CROSS JOIN LATERAL (
   SELECT count(*) AS amount FROM (SELECT FROM job WHERE queue_id = queue.id AND status = state LIMIT 10000) AS first
 ) AS counted
  LEFT JOIN LATERAL (
   SELECT created_at FROM job WHERE queue_id = queue.id AND status = state ORDER BY id LIMIT 1
 ) AS oldest ON true
 GROUP BY 1, 2
