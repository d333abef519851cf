"""Where others listen: `monitoring` counts what pumps and maintenance do, without being imported by them."""

from collections.abc import Callable, Sequence

from delivery.queue import Ended

# How many deliveries a look leased, and the seconds it took.
on_claimed: list[Callable[[int, float], None]] = []
# What was written down in one batch, and the seconds that took.
on_recorded: list[Callable[[Sequence[Ended], float], None]] = []
# How many leases had expired: of pumps, and of consumers that pull.
on_reaped: list[Callable[[int, int], None]] = []


def claimed(leases: int, seconds: float) -> None:
    for listen in on_claimed:
        listen(leases, seconds)


def recorded(ended: Sequence[Ended], seconds: float) -> None:
    for listen in on_recorded:
        listen(ended, seconds)


def reaped(of_pumps: int, of_consumers: int) -> None:
    for listen in on_reaped:
        listen(of_pumps, of_consumers)
