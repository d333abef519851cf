"""The first look: is it flowing, how late, what fails, what is stuck."""

from monitoring.dashboards.panel import LIVE, Dashboard, Panel, quantiles

OVERVIEW = Dashboard(
    "hook0-overview",
    "Overview",
    "Are webhooks flowing, which is stuck, and why? Start here; each panel says where to go on.",
    [
        Panel(
            "Is anything firing?",
            "Alerts of hook0 that fire now. Each has a runbook: docs/runbooks, by its name.",
            "short",
            {
                "{{alertname}}": 'count by (alertname) (ALERTS{alertname=~"Hook0.+", alertstate="firing"})'
                " or on () vector(0)"
            },
            "/",
            kind="stat",
            width=6,
            warn=1,
        ),
        Panel(
            "Are lanes blocked?",
            "Lanes that stand still until somebody retries or skips their head. Not 0: open the FIFO dashboard, or run "
            "manage.py fifo_status.",
            "short",
            {"blocked": 'max(sum by (instance) (hook0_lanes{phase="blocked"}))'},
            "/delivery/lane/?phase__exact=3",
            kind="stat",
            width=6,
            warn=1,
        ),
        Panel(
            "How old is the oldest undelivered webhook?",
            "Its age. Minutes are an endpoint on retry; a day is an endpoint that nobody looks after: fifo_status and "
            "the circuits on the Workers dashboard say which.",
            "s",
            {"oldest": "max(hook0_oldest_undelivered_seconds)"},
            "/delivery/requestattempt/",
            kind="stat",
            width=6,
            warn=86_400,
        ),
        Panel(
            "Are pumps there for all work?",
            "Pumps that have given a sign of life in the last 30 s. 0: start the worker of that name, or the delivery "
            "service.",
            "short",
            {"{{pool}}": "max by (pool) (hook0_pumps)"},
            "/subscriptions/worker/",
            kind="stat",
            width=6,
        ),
        Panel(
            "Are events coming in?",
            "Events stored per second, by the way they came. A drop to nothing is on the side of the senders, or "
            "the API "
            "refuses them: see the Ingest dashboard.",
            "cps",
            {"{{route}}": "sum by (route) (rate(hook0_events_ingested_total[$__rate_interval]))"},
            "/events/event/",
        ),
        Panel(
            "Are webhooks flowing?",
            "Tries per second by what became of the delivery: done is acknowledged, retry comes again, dead and block "
            "have used up their retries. Flat at 0 while events come in: no pump, or no database.",
            "cps",
            {"{{verdict}}": "sum by (verdict) (rate(hook0_delivery_tries_total[$__rate_interval]))"},
            "/delivery/attemptlog/",
            stacked=True,
        ),
        Panel(
            "How late are webhooks?",
            "From the receipt of an event to its acknowledgement, without replays and bulk loads. When it rises and "
            "the time in queue does not, endpoints are slow or fail; when both do, pumps do not keep up.",
            "s",
            quantiles("hook0_delivery_duration_seconds", 0.5, 0.95, 0.99, by="order", where=LIVE),
            "/delivery/attemptlog/",
        ),
        Panel(
            "What fails?",
            "Tries per second that failed, by class. One class for all endpoints is our network or DNS; of a few, "
            "theirs.",
            "cps",
            {
                "{{error}}": 'sum by (error) (rate(hook0_delivery_tries_total{error!="none"}[$__rate_interval])) '
                "or on () vector(0)"
            },
            "/delivery/attemptlog/?status=failed",
            stacked=True,
        ),
        Panel(
            "Does the error budget last?",
            "How many times faster than allowed (1 % of the tries) the budget burns. Over 14.4 for an hour, or 6 for "
            "six, somebody is called.",
            "short",
            {
                "5 min": "hook0:tries_error_ratio:rate5m / 0.01",
                "1 h": "hook0:tries_error_ratio:rate1h / 0.01",
                "6 h": "hook0:tries_error_ratio:rate6h / 0.01",
            },
            "/delivery/attemptlog/?status=failed",
            warn=14.4,
        ),
        Panel(
            "Does the API answer?",
            "Requests per second, by class of status. 5xx is ours: look into the log of the API by request id. 429 "
            "is a "
            "client over its rate.",
            "reqps",
            {"{{status}}": "sum by (status) (rate(hook0_api_request_duration_seconds_count[$__rate_interval]))"},
            "/",
            stacked=True,
        ),
        Panel(
            "How much waits?",
            "Deliveries that are not finished. Growing in lanes: heads that fail; growing outside: endpoints or pumps "
            "that do not keep up.",
            "short",
            {
                "all": "max(hook0_deliveries_pending)",
                "in lanes": "max(sum by (instance) (hook0_lane_deliveries))",
            },
            "/delivery/requestattempt/",
        ),
        Panel(
            "How full are we?",
            "Requests under way. At the pumps' window (HOOK0_DELIVERY_WINDOW for each pump) all wait for endpoints: "
            "add "
            "pumps, or a larger window.",
            "short",
            {"order: {{order}}": "max by (order) (hook0_in_flight)"},
            "/delivery/requestattempt/",
            stacked=True,
        ),
    ],
)
