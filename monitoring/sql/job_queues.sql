-- Jobs that are not over, by queue and state, of the first thousand queues: the first of them one by one, and the others
-- together. So many are counted of each state, by all queues together, and 10,000 by one. And for how long the oldest has
-- waited. Called by monitoring.snapshot. Served by job_by_state.
WITH queue AS MATERIALIZED (
  SELECT id, CASE WHEN row_number() OVER (ORDER BY created_at, id) <= %(most)s THEN id::text ELSE 'other' END AS name
    FROM job_queue ORDER BY created_at, id LIMIT 1000
),
share AS MATERIALIZED (
  SELECT least(10000, %(counted_jobs)s::int / greatest(1, count(*))) AS amount FROM queue
)
SELECT queue.name AS job_queue_id, state, sum(counted.amount)::bigint AS hook0_queue_jobs,
       greatest(0, coalesce(max(extract(epoch FROM now() - oldest.created_at)), 0))::float AS hook0_queue_jobs_oldest_seconds
  FROM queue
 CROSS JOIN unnest(ARRAY['INITIAL_PENDING', 'RUNNING', 'FAILED_RETRY', 'UNKNOWN_RETRY', 'CANCELLING', 'EXHAUSTED']) AS s (state)
 CROSS JOIN LATERAL (
   SELECT count(*) AS amount
     FROM (SELECT FROM job WHERE queue_id = queue.id AND status = state LIMIT (SELECT amount FROM share)) AS first
 ) AS counted
  LEFT JOIN LATERAL (
   SELECT created_at FROM job WHERE queue_id = queue.id AND status = state ORDER BY id LIMIT 1
 ) AS oldest ON true
 GROUP BY 1, 2
