-- The tables that turn over: rows, dead rows, size. Called by monitoring.snapshot; from PostgreSQL's statistics.
SELECT relname AS "table", n_live_tup AS hook0_table_rows, n_dead_tup AS hook0_table_dead_rows,
       pg_total_relation_size(relid) AS hook0_table_size_bytes
  FROM pg_stat_user_tables
 WHERE relname IN ('event', 'request_attempt', 'fifo_subscription_state', 'subscription_state', 'dead_letter')
   AND schemaname = 'public'
 UNION ALL
SELECT 'attempt_log', sum(n_live_tup)::bigint, sum(n_dead_tup)::bigint, sum(pg_total_relation_size(relid))::bigint
  FROM pg_stat_user_tables WHERE relname ~ '^attempt_log_' AND schemaname = 'public'
