"""A pump ends thousands of tries a second, and prometheus-client observes one at a time."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from prometheus_client import Histogram


def observe_all(histogram: Histogram, amounts: Sequence[float]) -> None:
    """As `histogram.observe` for each amount, at a fraction of the cost: every bucket that is hit is written once."""
    if not amounts:
        return
    bounds = histogram._upper_bounds
    for bucket, hits in Counter(bisect_left(bounds, amount) for amount in amounts).items():
        histogram._buckets[bucket].inc(hits)
    histogram._sum.inc(sum(amounts))
