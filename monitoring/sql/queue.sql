-- What waits, what was given up, and since when. Called by monitoring.snapshot. Served by the primary keys and
-- attempt_leased. Up to 100,000 are counted; beyond that PostgreSQL's own estimate has to do.
SELECT (SELECT CASE WHEN count(*) <= 100000 THEN count(*)
                    ELSE greatest(count(*), pg_stat_get_live_tuples('request_attempt'::regclass)) END
          FROM (SELECT FROM request_attempt LIMIT 100001) AS counted)::bigint AS hook0_deliveries_pending,
       (SELECT CASE WHEN count(*) <= 100000 THEN count(*)
                    ELSE greatest(count(*), pg_stat_get_live_tuples('dead_letter'::regclass)) END
          FROM (SELECT FROM dead_letter LIMIT 100001) AS counted)::bigint AS hook0_dead_letters,
       -- Ids of deliveries begin with the millisecond in which they were made.
       greatest(0, coalesce((SELECT extract(epoch FROM now() - created_at) FROM request_attempt ORDER BY id LIMIT 1), 0)
       )::float AS hook0_oldest_undelivered_seconds
