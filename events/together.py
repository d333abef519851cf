"""Requests that come while another is being stored are stored together: one transaction and one commit for several."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(eq=False)
class _Call(Generic[Item, Result]):
    item: Item
    results: list[Result] = field(default_factory=list)  # one, when it is done
    problem: Exception | None = None


@dataclass(eq=False)
class _Line(Generic[Item, Result]):
    """Who stands in line for a key: one is served at a time, and takes along those who wait."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    waiting: list[_Call[Item, Result]] = field(default_factory=list)
    visitors: int = 0


class Together(Generic[Key, Item, Result]):
    """Does for many at once what it is called for one by one, in as many threads. Nobody waits for company."""

    def __init__(self, work: Callable[[Key, list[Item]], list[Result]]) -> None:
        self._work = work
        self._lines: dict[Key, _Line[Item, Result]] = {}
        self._lock = threading.Lock()

    def __call__(self, key: Key, item: Item) -> Result:
        call: _Call[Item, Result] = _Call(item)
        with self._lock:
            line = self._lines.setdefault(key, _Line())
            line.visitors += 1
            line.waiting.append(call)
        try:
            with line.turn:
                if not call.results and not call.problem:
                    self._do(key, self._take_along(call, line))
        finally:
            with self._lock:
                line.visitors -= 1
                if not line.visitors:
                    del self._lines[key]
        if call.problem:
            raise call.problem
        return call.results[0]

    def _take_along(self, call: _Call[Item, Result], line: _Line[Item, Result]) -> list[_Call[Item, Result]]:
        with self._lock:
            calls, line.waiting = line.waiting, []
        return calls if call in calls else [call]  # whoever took it along did not come back

    def _do(self, key: Key, calls: list[_Call[Item, Result]]) -> None:
        try:
            results = self._work(key, [call.item for call in calls])
        except Exception as problem:
            if len(calls) == 1:
                calls[0].problem = problem
                return
            for call in calls:  # one of them may have spoiled it for all
                self._do(key, [call])
        else:
            for call, result in zip(calls, results, strict=True):
                call.results.append(result)
