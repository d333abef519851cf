"""What somebody should know who asks for this configuration."""

from subscriptions.models import Subscription


def warnings_about(subscription: Subscription) -> list[dict[str, str]]:
    """Each as a code for programs and a sentence for people."""
    if not subscription.fifo_mode:
        return []
    warnings = [
        {
            "code": "fifo_throughput",
            "message": "FIFO sends one webhook at a time per lane, and a failing one holds back what comes "
            "behind it. Keep the endpoint fast, and make it idempotent all the same: a webhook may repeat.",
        }
    ]
    if subscription.fifo_on_exhausted == Subscription.OnExhausted.BLOCK:
        warnings.append(
            {
                "code": "fifo_blocks",
                "message": "When an event has used up its retries, its lane stops until somebody retries or skips it.",
            }
        )
    return warnings
