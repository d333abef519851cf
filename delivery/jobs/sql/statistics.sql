-- How many jobs of a queue have all the tags, by what became of them. Called by delivery.jobs.rows. Served by job_by_age,
-- or job_tags where tags are rare.
SELECT count(*), count(*) FILTER (WHERE status = 'INITIAL_PENDING'),
       count(*) FILTER (WHERE status IN ('RUNNING', 'CANCELLING')),
       count(*) FILTER (WHERE status = 'COMPLETED'),
       count(*) FILTER (WHERE status IN ('STOPPED', 'UNSCHEDULED', 'UNKNOWN_STOPPED')),
       count(*) FILTER (WHERE status IN ('FAILED_RETRY', 'UNKNOWN_RETRY', 'EXHAUSTED')),
       coalesce(sum(retry_count), 0)::bigint
  FROM job
 WHERE queue_id = %(queue)s::uuid AND (%(tags)s::text[] = '{}' OR tags @> %(tags)s::text[])
