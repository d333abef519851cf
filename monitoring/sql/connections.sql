-- Connections to our database, by what they do. Called by monitoring.snapshot.
SELECT state, count(pid) AS hook0_database_connections
  FROM unnest(ARRAY['active', 'idle', 'idle in transaction', 'other']) AS s (state)
  LEFT JOIN (SELECT pid, CASE WHEN state IN ('active', 'idle', 'idle in transaction') THEN state ELSE 'other' END AS state
               FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend') AS a USING (state)
 GROUP BY state
