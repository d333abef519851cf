"""Where a claim begins to look."""

import time
from collections.abc import Iterable
from datetime import datetime, timedelta

SWEEP_SECONDS = 0.25
LOW_WATER_MARGIN = timedelta(milliseconds=200)


class LowWater:
    """Where a claim's scan begins: just before the oldest that the last full claim returned.

    Behind it lie the dead index entries of what was claimed, which an old snapshot elsewhere may keep
    alive for hours. Now and then a scan begins at the very beginning, for rows that were locked or late.
    """

    def __init__(self) -> None:
        self._mark = "-infinity"
        self._swept = 0.0

    def mark(self) -> str:
        if time.monotonic() - self._swept >= SWEEP_SECONDS:
            self._swept = time.monotonic()
            return "-infinity"
        return self._mark

    def claimed(self, due: Iterable[datetime], *, full: bool) -> None:
        self._mark = (min(due) - LOW_WATER_MARGIN).isoformat() if full else "-infinity"
