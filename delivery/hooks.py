"""Where others listen: `monitoring` counts what the pump records, without being imported by it."""

from collections.abc import Callable, Sequence

from delivery.queue import Ended

on_recorded: list[Callable[[Sequence[Ended]], None]] = []


def recorded(ended: Sequence[Ended]) -> None:
    for listen in on_recorded:
        listen(ended)
