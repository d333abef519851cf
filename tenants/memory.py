"""What is remembered for a moment, to ask the database less often."""

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Memory(Generic[Key, Value]):
    """The answers to a question by key: each for so many seconds, and those to the latest keys alone."""

    def __init__(self, *, seconds: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._most, self._clock = seconds, most, clock
        self._known: dict[Key, tuple[float, Value]] = {}
        self._lock = threading.Lock()

    def get(self, key: Key, ask: Callable[[], Value]) -> Value:
        """What is remembered, or else what `ask` answers now."""
        now = self._clock()  # before asking: an answer is not younger than its question
        known = self._known.get(key)
        if known and now - known[0] < self.seconds:
            return known[1]
        value = ask()
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = (now, value)  # at the end: who is forgotten is the first
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return value

    def forget(self) -> None:
        with self._lock:
            self._known.clear()
