"""Waiting for what happens in another thread or process."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 60


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
