-- The database as a whole: room for connections, its size, and who keeps vacuum from cleaning, for how long.
-- Called by monitoring.snapshot.
SELECT current_setting('max_connections')::int AS hook0_database_connections_limit,
       pg_database_size(current_database()) AS hook0_database_size_bytes,
       greatest(0, coalesce((SELECT max(extract(epoch FROM now() - xact_start)) FROM pg_stat_activity
                              WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'),
                            0))::float AS hook0_database_oldest_transaction_seconds,
       coalesce((SELECT max(greatest(age(xmin), age(catalog_xmin))) FROM pg_replication_slots), 0)
         AS hook0_database_slot_xmin_age,
       (SELECT count(*) FROM pg_prepared_xacts) AS hook0_database_prepared_transactions
