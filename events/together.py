"""Requests that come while another is being stored are stored together: one transaction and one commit for several."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Result = TypeVar("Result")


def _locked() -> threading.Lock:
    """A lock that is held, for somebody else to release."""
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(eq=False)
class _Call(Generic[Item, Result]):
    item: Item
    leads: bool = False
    asleep: threading.Lock = field(default_factory=_locked)
    results: list[Result] = field(default_factory=list)  # one, when it is done
    problem: Exception | None = None


class Together(Generic[Key, Item, Result]):
    """Does for many at once what it is called for one by one, in as many threads. Nobody waits for company.

    For each key one call leads: it takes along those that have come since the last, and leaves the lead to the next.
    """

    def __init__(self, work: Callable[[Key, list[Item]], list[Result]], *, final: tuple[type[Exception], ...]) -> None:
        """After what is `final` the work was perhaps done all the same: all of a round are told, and none is redone."""
        self._work = work
        self._final = final
        self._waiting: dict[Key, list[_Call[Item, Result]]] = {}  # there is a list while somebody leads
        self._lock = threading.Lock()

    def __call__(self, key: Key, item: Item) -> Result:
        call: _Call[Item, Result] = _Call(item)
        with self._lock:
            call.leads = key not in self._waiting
            if call.leads:
                self._waiting[key] = []
            else:
                self._waiting[key].append(call)
        if not call.leads:
            call.asleep.acquire()
        if call.leads:
            self._lead(key, call)
        elif not call.results and not call.problem:  # whoever took it along did not come back
            self._do(key, [call])
        if call.problem:
            raise call.problem
        return call.results[0]

    def _lead(self, key: Key, call: _Call[Item, Result]) -> None:
        with self._lock:
            taken_along, self._waiting[key] = self._waiting[key], []
        try:
            self._do(key, [call, *taken_along])
        finally:
            for each in taken_along:
                each.asleep.release()
            self._leave_the_lead(key)

    def _leave_the_lead(self, key: Key) -> None:
        with self._lock:
            if not self._waiting[key]:
                del self._waiting[key]
                return
            following = self._waiting[key].pop(0)
            following.leads = True
        following.asleep.release()

    def _do(self, key: Key, calls: list[_Call[Item, Result]]) -> None:
        try:
            results = self._work(key, [call.item for call in calls])
        except Exception as problem:
            if len(calls) == 1 or isinstance(problem, self._final):
                for call in calls:
                    call.problem = problem
                return
            for call in calls:  # one of them may have spoiled it for all
                self._do(key, [call])
        else:
            for call, result in zip(calls, results, strict=True):
                call.results.append(result)
