"""What comes in, and how the API does."""

from monitoring.dashboards.panel import LIVE, Dashboard, Panel, quantiles

API = "hook0_api_request_duration_seconds"

INGEST = Dashboard(
    "hook0-ingest",
    "Ingest and bulk loads",
    "What comes in, by which way, how fast, and what is refused.",
    [
        Panel(
            "How many events come in?",
            "Stored per second: single is POST /event/, batch is POST /events/.",
            "cps",
            {"{{route}}": "sum by (route) (rate(hook0_events_ingested_total[$__rate_interval]))"},
            "/events/event/",
            stacked=True,
        ),
        Panel(
            "Which events are refused?",
            "Per second. duplicate: the sender repeats itself, which is safe; unknown type: declare it first; invalid: "
            "the sender's bug, and its answer says which.",
            "cps",
            {"{{route}}: {{reason}}": "sum by (route, reason) (rate(hook0_events_refused_total[$__rate_interval]))"},
            "/tenants/eventtype/",
        ),
        Panel(
            "How fast is an event taken in?",
            "The answer of POST /event/, with the event durable. Over 100 ms: the database's disk, or too few threads.",
            "s",
            {
                f"p{share * 100:g}": f"histogram_quantile({share}, sum by (le) "
                f'(rate({API}_bucket{{route="/api/v1/event/"}}[$__rate_interval])))'
                for share in (0.5, 0.95, 0.99)
            },
            "/events/event/",
        ),
        Panel(
            "What is asked of the API?",
            "Requests per second, by address.",
            "reqps",
            {"{{method}} {{route}}": f"topk(10, sum by (method, route) (rate({API}_count[$__rate_interval])))"},
            "/",
        ),
        Panel(
            "How fast does the API answer?",
            "All addresses together. Slow lists are a page without an index: say so to us.",
            "s",
            quantiles(API, 0.5, 0.95, 0.99),
            "/",
        ),
        Panel(
            "What share of requests fails?",
            "5xx of all. The log of the API has each, with its request id.",
            "percentunit",
            {"5 min": "hook0:api_error_ratio:rate5m", "1 h": "hook0:api_error_ratio:rate1h"},
            "/",
            warn=0.01,
        ),
        Panel(
            "How far are bulk loads?",
            "Loaded is in the database, released is handed to the queue. One that stands still is paused, or its Spark "
            "job is gone: run it again with the same id.",
            "percentunit",
            {
                "{{load}} loaded": "max by (load) (hook0_bulk_load_loaded_ratio)",
                "{{load}} released": "max by (load) (hook0_bulk_load_released_ratio)",
            },
            "/events/bulkload/",
        ),
        Panel(
            "How fast do bulk loads go?",
            "Rows that become events, and events that become deliveries, per second. The release makes room for live "
            "traffic.",
            "cps",
            {
                "merged": "sum(clamp_min(deriv(hook0_bulk_load_rows_merged[$__rate_interval]), 0))",
                "released": "sum(clamp_min(deriv(hook0_bulk_load_events_released[$__rate_interval]), 0))",
            },
            "/events/bulkload/",
        ),
        Panel(
            "Which bulk loads are there?",
            "By state. failed has left nothing behind, and says why: mend it, and run it again with the same id.",
            "short",
            {"{{state}}": "max by (state) (hook0_bulk_loads)"},
            "/events/bulkload/",
            stacked=True,
        ),
        Panel(
            "Who comes too often?",
            "Requests per second that were answered 429. Raise HOOK0_TOKEN_RATE or HOOK0_ADDRESS_RATE, or ask the "
            "client "
            "to send batches.",
            "reqps",
            {"429": f'sum(rate({API}_count{{status="429"}}[$__rate_interval])) or vector(0)'},
            "/tenants/application/",
            width=12,
        ),
        Panel(
            "How fast do events become webhooks?",
            "First from the receipt of an event to its acknowledgement; then the part of it before a request began.",
            "s",
            {
                "to the acknowledgement": "histogram_quantile(0.95, sum by (le) "
                f"(rate(hook0_delivery_duration_seconds_bucket{LIVE}[$__rate_interval])))",
                "in the queue": "histogram_quantile(0.95, sum by (le) "
                "(rate(hook0_queue_duration_seconds_bucket[$__rate_interval])))",
            },
            "/delivery/attemptlog/",
            width=12,
        ),
    ],
)
