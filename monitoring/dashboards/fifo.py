"""Lanes: which are held, since when, and what it costs."""

from monitoring.dashboards.panel import Dashboard, Panel, quantiles

BLOCKED = 'sum by (held) (max by (phase, held) (hook0_lanes{phase="blocked"}))'

FIFO = Dashboard(
    "hook0-fifo",
    "FIFO",
    "Which lanes hold back what comes behind, since when, and how much waits. The same in a terminal: manage.py "
    "fifo_status.",
    [
        Panel(
            "How long has the longest been held?",
            "Since its head first failed. Over 5 minutes an alert fires: fifo_status names the lane; fix its endpoint, "
            "or skip the head.",
            "s",
            {"{{phase}}": "max by (phase) (hook0_lane_longest_held_seconds)"},
            "/delivery/lane/?standing=stuck",
            kind="stat",
            width=12,
            warn=300,
        ),
        Panel(
            "Which subscriptions are held, and for how long?",
            "Since a head of theirs first failed. Open the longest in the admin, and retry or skip its head there.",
            "s",
            {"{{subscription_id}}": "topk(20, max by (subscription_id) (hook0_fifo_subscription_held_seconds) > 0)"},
            "/delivery/lane/?standing=stuck",
            kind="table",
            width=12,
        ),
        Panel(
            "Which lanes hold something?",
            "Lanes by phase. waiting and running move by themselves; blocked and paused wait for somebody.",
            "short",
            {"{{phase}}": "sum by (phase) (max by (phase, held) (hook0_lanes))"},
            "/delivery/lane/",
            stacked=True,
        ),
        Panel(
            "How long have blocked lanes been blocked?",
            "Blocked lanes by age. What grows old is forgotten: tell its owner, or skip.",
            "short",
            {"{{held}}": BLOCKED},
            "/delivery/lane/?phase__exact=3",
            stacked=True,
        ),
        Panel(
            "How many heads are on retry?",
            "Lanes that wait for a head which has failed, by for how long. They go on by themselves when it is "
            "acknowledged or given up.",
            "short",
            {"{{held}}": 'sum by (held) (max by (phase, held) (hook0_lanes{phase=~"waiting|running", held!="not"}))'},
            "/delivery/lane/?phase__exact=1",
            stacked=True,
        ),
        Panel(
            "Which subscriptions have the deepest queues?",
            "Deliveries that wait. With a head that fails it will drain by itself once that is fixed; without one, the "
            "lane is as fast as its endpoint: split it by fifo_key.",
            "short",
            {"{{subscription_id}}": "topk(10, max by (subscription_id) (fifo_subscription_queue_depth))"},
            "/delivery/lane/",
        ),
        Panel(
            "Which heads are on which retry?",
            "Retries of the head that holds a subscription back. Near the end of its policy (15 by default) it is "
            "given "
            "up, or its lane blocks.",
            "short",
            {"{{subscription_id}}": "topk(10, max by (subscription_id) (fifo_subscription_current_retry_count))"},
            "/delivery/lane/?standing=stuck",
        ),
        Panel(
            "How long do webhooks wait for their turn?",
            "From when a delivery of a FIFO subscription was made to its first try. What is over the endpoint's own "
            "time "
            "is the price of order.",
            "s",
            quantiles("fifo_subscription_blocked_duration_seconds", 0.5, 0.95, 0.99),
            "/delivery/attemptlog/",
        ),
        Panel(
            "How much waits in lanes that stand still?",
            "Deliveries behind blocked and paused heads. Nothing is lost, and nothing goes out.",
            "short",
            {"{{phase}}": 'sum by (phase) (max by (phase, held) (hook0_lane_deliveries{phase=~"blocked|paused"}))'},
            "/delivery/lane/?phase__exact=3",
            stacked=True,
        ),
        Panel(
            "Are lanes stopped by their policy?",
            "Heads per second that have used up their retries: block stops the lane, dead goes to the dead letters.",
            "cps",
            {
                "{{verdict}}": 'sum by (verdict) (rate(hook0_delivery_tries_total{order="fifo", verdict=~"block|dead"}'
                "[$__rate_interval]))"
            },
            "/delivery/deadletter/",
        ),
        Panel(
            "How late are ordered webhooks?",
            "From the receipt of an event to its acknowledgement, in FIFO subscriptions alone, without replays and "
            "bulk loads.",
            "s",
            quantiles(
                "hook0_delivery_duration_seconds",
                *(0.5, 0.95, 0.99),
                where='{order="fifo", origin="live", target="http"}',
            ),
            "/delivery/attemptlog/",
        ),
    ],
)
