"""One FIFO subscription, chosen above."""

from monitoring.dashboards.panel import Dashboard, Panel

ONE = '{subscription_id="$subscription"}'
PAGE = "/subscriptions/subscription/${subscription}/change/"
LANES = "/delivery/lane/?subscription=${subscription}"

SUBSCRIPTION = Dashboard(
    "hook0-subscription",
    "Subscription",
    "One FIFO subscription. Those with the most waiting can be chosen; the rest are `other`, and manage.py fifo_status "
    "--subscription shows any.",
    [
        Panel(
            "Is it held, and for how long?",
            "Since a head first failed; 0 is not held. Open the admin to see what its endpoint answered.",
            "s",
            {"held": f"max(hook0_fifo_subscription_held_seconds{ONE})"},
            LANES,
            kind="stat",
            warn=300,
        ),
        Panel(
            "On which retry is its head?",
            "Of its lanes, the most. The waits double up to 5 minutes and are an hour in the end.",
            "short",
            {"retries": f"max(fifo_subscription_current_retry_count{ONE})"},
            LANES,
            kind="stat",
            warn=5,
        ),
        Panel(
            "How much waits?",
            "Deliveries in its lanes. They go out in order as soon as the head is acknowledged, skipped or given up.",
            "short",
            {"waiting": f"max(fifo_subscription_queue_depth{ONE})"},
            LANES,
            kind="stat",
        ),
        Panel(
            "Does its queue grow?",
            "Growing without a head that fails: the endpoint takes one request at a time more slowly than events come. "
            "Split it into lanes by fifo_key.",
            "short",
            {"waiting": f"max(fifo_subscription_queue_depth{ONE})"},
            PAGE,
            width=12,
        ),
        Panel(
            "How long do its webhooks wait for their turn?",
            "From when a delivery was made to its first try; counted from the first wait of a second on.",
            "s",
            {
                f"p{share * 100:g}": f"histogram_quantile({share}, sum by (le) "
                f"(rate(fifo_subscription_blocked_duration_seconds_bucket{ONE}[$__rate_interval])))"
                for share in (0.5, 0.95)
            },
            PAGE,
            width=12,
        ),
        Panel(
            "How often has its head been retried?",
            "It rises with each failure, and falls to 0 when the head is gone.",
            "short",
            {"retries": f"max(fifo_subscription_current_retry_count{ONE})"},
            LANES,
            width=12,
        ),
        Panel(
            "How fast do its webhooks start?",
            "First tries per second: the pace of the subscription.",
            "cps",
            {"first tries": f"sum(rate(fifo_subscription_blocked_duration_seconds_count{ONE}[$__rate_interval]))"},
            PAGE,
            width=12,
        ),
    ],
    variables={"subscription": "label_values(fifo_subscription_queue_depth, subscription_id)"},
)
