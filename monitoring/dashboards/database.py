"""PostgreSQL, as far as it matters to the queue."""

from monitoring.dashboards.panel import Dashboard, Panel

DATABASE = Dashboard(
    "hook0-database",
    "Database",
    "The one place where everything is: connections, dead rows, size, and who keeps vacuum from cleaning.",
    [
        Panel(
            "Does the database answer?",
            "1 is yes, to whoever serves the metrics. 0: nothing is taken in and nothing goes out; nothing is lost.",
            "short",
            {"answers": "min(hook0_database_up)"},
            "/",
            kind="stat",
        ),
        Panel(
            "How old is the oldest transaction?",
            "It keeps vacuum from cleaning the queue's tables. Over 10 minutes: end it with pg_terminate_backend.",
            "s",
            {"oldest": "max(hook0_database_oldest_transaction_seconds)"},
            "/",
            kind="stat",
            warn=600,
        ),
        Panel(
            "How many days of the log are ready?",
            "Days of the attempt log that have a partition, ahead of today. Under 2: the job keep_partitions fails.",
            "short",
            {"days ahead": "min(hook0_attempt_log_days_ahead)"},
            "/monitoring/jobround/",
            kind="stat",
        ),
        Panel(
            "What share of the connections is taken?",
            "Over 85 %: raise max_connections, or run fewer pumps and threads.",
            "percentunit",
            {"taken": "sum(max by (state) (hook0_database_connections)) / max(hook0_database_connections_limit)"},
            "/",
            warn=0.85,
        ),
        Panel(
            "What do connections do?",
            "Ours to this database. Idle in transaction for long is somebody's forgotten session.",
            "short",
            {"{{state}}": "max by (state) (hook0_database_connections)"},
            "/",
            stacked=True,
        ),
        Panel(
            "Do dead rows pile up?",
            "Rows that vacuum has not removed. Growing without end: an old transaction, or autovacuum_naptime is "
            "not 5s.",
            "short",
            {"{{table}}": "max by (table) (hook0_table_dead_rows)"},
            "/",
        ),
        Panel(
            "How many rows are there?",
            "As PostgreSQL estimates them. Events and the log follow retention; the others follow what waits.",
            "short",
            {"{{table}}": "max by (table) (hook0_table_rows)"},
            "/",
        ),
        Panel(
            "Which table takes the space?",
            "With indexes. The log is the largest: HOOK0_ATTEMPT_RETENTION_DAYS bounds it.",
            "bytes",
            {"{{table}}": "max by (table) (hook0_table_size_bytes)"},
            "/",
        ),
        Panel(
            "Does something else pin the horizon?",
            "Transactions that a replication slot holds back, and prepared transactions that nobody ended. Drop the "
            "slot "
            "of a standby that is gone.",
            "short",
            {
                "slot": "max(hook0_database_slot_xmin_age)",
                "prepared": "max(hook0_database_prepared_transactions)",
            },
            "/",
        ),
        Panel(
            "How large is the database?",
            "On disk. Retention bounds it: HOOK0_EVENT_RETENTION_DAYS and HOOK0_ATTEMPT_RETENTION_DAYS.",
            "bytes",
            {"size": "max(hook0_database_size_bytes)"},
            "/",
        ),
        Panel(
            "Does retention keep up?",
            "The oldest that is kept. An event may be older than its retention, if a delivery of it is pending or a "
            "dead "
            "letter; the log may not: see the job keep_partitions.",
            "s",
            {"event": "max(hook0_oldest_event_seconds)", "log": "max(hook0_attempt_log_days_kept) * 86400"},
            "/monitoring/jobround/",
        ),
        Panel(
            "What does watching cost?",
            "Seconds of the statements behind these gauges. They wait 20 times as long before the next look.",
            "s",
            {"seconds": "max(hook0_snapshot_duration_seconds)"},
            "/monitoring/snapshot/",
        ),
    ],
)
