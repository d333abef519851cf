"""Pumps, the queue under them, and the clock."""

from monitoring.dashboards.panel import Dashboard, Panel, quantiles

WORKERS = Dashboard(
    "hook0-workers",
    "Workers and queue",
    "Do pumps keep up, is somebody missing, does the clock go?",
    [
        Panel(
            "Which pumps are alive?",
            "Signs of life of the last 30 s, by the name of the worker. 0: start the worker of that name.",
            "short",
            {"{{worker}}": "max by (worker) (hook0_worker_pumps)"},
            "/delivery/runningpump/",
        ),
        Panel(
            "Does due work wait for a pump?",
            "For how long the oldest has. Seconds: pumps are busy, add some. Ever growing: nobody serves it.",
            "s",
            {"{{pool}}": "max by (pool) (hook0_oldest_due_seconds)"},
            "/subscriptions/worker/",
            warn=60,
        ),
        Panel(
            "How long are tries in the queue?",
            "From when a try was due to when its request began. Over a second in the median, pumps do not keep up.",
            "s",
            quantiles("hook0_queue_duration_seconds", 0.5, 0.95, by="order"),
            "/delivery/requestattempt/",
        ),
        Panel(
            "How many deliveries are claimed?",
            "Leased per second. It follows the traffic; at 0 with work that is due, the database does not let pumps "
            "in.",
            "cps",
            {"claimed": "sum(rate(hook0_deliveries_claimed_total[$__rate_interval]))"},
            "/delivery/requestattempt/",
        ),
        Panel(
            "How long does a look for work take?",
            "Milliseconds are normal, whatever waits. More: dead rows (see the Database dashboard), or a busy disk.",
            "s",
            quantiles("hook0_claim_duration_seconds", 0.5, 0.99),
            "/delivery/lane/",
        ),
        Panel(
            "How long does it take to write down what ended?",
            "Batches grow with the load, so this may rise a little. Over a second, the database is the bottleneck.",
            "s",
            quantiles("hook0_record_duration_seconds", 0.5, 0.99),
            "/delivery/attemptlog/",
        ),
        Panel(
            "How large are the batches?",
            "Ends of tries in one batch: one by one when there is little to do, dozens when there is much.",
            "short",
            {
                "mean": "sum(rate(hook0_record_batch_size_sum[$__rate_interval])) / "
                "sum(rate(hook0_record_batch_size_count[$__rate_interval]))"
            },
            "/delivery/attemptlog/",
        ),
        Panel(
            "How fast do endpoints answer?",
            "Time of the requests themselves, failures included. At the time-out: see which, by the circuits.",
            "s",
            quantiles("hook0_request_duration_seconds", 0.5, 0.95, 0.99),
            "/delivery/attemptlog/",
        ),
        Panel(
            "How many retries are scheduled?",
            "Tries per second that will come again. They go on by themselves.",
            "cps",
            {"retries": 'sum(rate(hook0_delivery_tries_total{verdict="retry"}[$__rate_interval])) or vector(0)'},
            "/delivery/attemptlog/?status=failed",
        ),
        Panel(
            "Do pumps get lost?",
            "Leases that expired in 10 minutes: their pump was killed, or hung. A few after a crash; more: look "
            "into its "
            "log.",
            "short",
            {"expired": 'sum(increase(hook0_leases_expired_total{holder="pump"}[10m]))'},
            "/delivery/attemptlog/?error_name=E_WORKER_LOST",
            warn=1,
        ),
        Panel(
            "Whose circuit is open?",
            "Endpoints that are left alone for a while after ten outages in a row. They cost no retries and come "
            "back by "
            "themselves.",
            "short",
            {"{{state}}": "max by (state) (hook0_circuits)"},
            "/subscriptions/subscription/",
            stacked=True,
        ),
        Panel(
            "How many dead letters are there?",
            "Deliveries that were given up. Fix the endpoint, then send them again in the admin or the API.",
            "short",
            {"dead letters": "max(hook0_dead_letters)"},
            "/delivery/deadletter/",
        ),
        Panel(
            "Do consumers that pull ask?",
            "For how long the oldest that one could fetch has waited, by whether it has an order. Ever growing: nobody "
            "asks; tell the owner of the subscription.",
            "s",
            {"order: {{order}}": "max by (order) (hook0_consumer_oldest_due_seconds)"},
            "/subscriptions/subscription/",
            warn=3600,
        ),
        Panel(
            "Do job queues have workers?",
            "The age of the oldest job that waits, by queue. Ever growing: nobody asks for it, or its key is blocked.",
            "s",
            {
                "{{job_queue_id}}": "max by (job_queue_id) "
                '(hook0_queue_jobs_oldest_seconds{state=~"INITIAL_PENDING|FAILED_RETRY|UNKNOWN_RETRY"})'
            },
            "/delivery/jobqueue/",
            warn=3600,
        ),
        Panel(
            "What do job queues hold?",
            "Jobs that are not over, by state, of all queues. RUNNING at 0 with jobs that wait: no worker is there.",
            "short",
            {"{{state}}": "sum by (state) (max by (job_queue_id, state) (hook0_queue_jobs))"},
            "/delivery/jobqueue/",
            stacked=True,
        ),
        Panel(
            "Which jobs have used up their retries?",
            "By queue. They wait until somebody retries or deletes them.",
            "short",
            {"{{job_queue_id}}": 'max by (job_queue_id) (hook0_queue_jobs{state="EXHAUSTED"})'},
            "/delivery/jobqueue/",
        ),
        Panel(
            "Does the clock go?",
            "For how long each job has been overdue. Over a minute for one: it fails; for all: beat, the broker or the "
            "maintenance worker is down.",
            "s",
            {
                "{{task}}": "clamp_min(time() - max by (task) (hook0_job_last_success_timestamp_seconds) "
                "- max by (task) (hook0_job_interval_seconds), 0)"
            },
            "/monitoring/jobround/",
            warn=60,
        ),
        Panel(
            "Which jobs run, and which fail?",
            "Rounds per second of the jobs on the clock. The admin shows the last error of each.",
            "cps",
            {"{{task}} {{result}}": "sum by (task, result) (rate(hook0_jobs_total[$__rate_interval]))"},
            "/monitoring/jobround/",
        ),
    ],
)
