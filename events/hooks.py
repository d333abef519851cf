"""Where others listen: `monitoring` counts what comes in, without being imported by it."""

from collections.abc import Callable, Iterable

# The way that events came in, and what became of each.
on_ingested: list[Callable[[str, Iterable[str]], None]] = []


def ingested(route: str, fates: Iterable[str]) -> None:
    for listen in on_ingested:
        listen(route, fates)
