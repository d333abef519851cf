"""What a snapshot of the tables says, by name. A column of a statement in `sql/` that has one of these names is a value
of it; the other columns are its labels."""

GAUGES = {
    "fifo_subscription_queue_depth": "Deliveries that wait in the lanes of a FIFO subscription.",
    "fifo_subscription_current_retry_count": "Retries of the head that holds a FIFO subscription back, at most.",
    "hook0_fifo_subscription_held_seconds": "For how long a head of a FIFO subscription has been failing; the longest.",
    "hook0_lanes": "Lanes that hold something, by phase and by how long the head has been failing.",
    "hook0_lane_deliveries": "Deliveries that wait in those lanes.",
    "hook0_lane_longest_held_seconds": "For how long the head has been failing; the longest of those lanes.",
    "hook0_deliveries_pending": "Deliveries that are not finished, in lanes or not; beyond 100,000 an estimate.",
    "hook0_oldest_undelivered_seconds": "The age of the oldest delivery that is not finished.",
    "hook0_in_flight": "Deliveries under lease: being sent right now.",
    "hook0_dead_letters": "Deliveries that were given up and are kept; beyond 100,000 an estimate.",
    "hook0_pumps": "Pumps that have given a sign of life, by the workers whose work they do.",
    "hook0_worker_pumps": "Pumps that have given a sign of life, by the name they were started with.",
    "hook0_oldest_due_seconds": "For how long the oldest due work of these workers has waited for a pump.",
    "hook0_consumer_oldest_due_seconds": "For how long the oldest that consumers could fetch has waited for them.",
    "hook0_circuits": "Subscriptions whose circuit is not closed.",
    "hook0_bulk_loads": "Bulk loads, by state.",
    "hook0_bulk_load_loaded_ratio": "How much of a bulk load is in the database.",
    "hook0_bulk_load_released_ratio": "How much of its events are released as deliveries.",
    "hook0_bulk_load_rows_merged": "Rows of a bulk load that are events now, or were duplicates.",
    "hook0_bulk_load_events_released": "Events of a bulk load that are released.",
    "hook0_queue_jobs": "Jobs of a queue that are not over, by state; 10,000 of each are counted, and fewer "
    "where there are more than 20 queues.",
    "hook0_queue_jobs_oldest_seconds": "The age of the oldest job of a queue in this state.",
    "hook0_job_interval_seconds": "How often a job on the clock is due.",
    "hook0_job_last_success_timestamp_seconds": (
        "When a job on the clock last went well; where it never did, since when it is known."
    ),
    "hook0_attempt_log_days_ahead": "Days of the attempt log that are ready, today's not counted.",
    "hook0_attempt_log_days_kept": "Days back to the oldest of the attempt log.",
    "hook0_oldest_event_seconds": "The age of the oldest event that is kept.",
    "hook0_database_connections": "Connections to the database, by what they do.",
    "hook0_database_connections_limit": "How many connections the database allows.",
    "hook0_database_size_bytes": "Size of the database on disk.",
    "hook0_database_oldest_transaction_seconds": "The age of the oldest transaction that keeps vacuum from cleaning.",
    "hook0_database_slot_xmin_age": "Transactions that a replication slot keeps vacuum from cleaning behind.",
    "hook0_database_prepared_transactions": "Prepared transactions that nobody has ended.",
    "hook0_table_rows": "Rows of a table, as PostgreSQL estimates them.",
    "hook0_table_dead_rows": "Dead rows of a table that vacuum has not removed.",
    "hook0_table_size_bytes": "Size of a table on disk, with its indexes.",
}
