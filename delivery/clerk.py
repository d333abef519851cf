"""A thread that does the pump's paperwork, so that requests go on while the database answers."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Clerk:
    """Runs one errand at a time; `done` is called, in its thread, when it is back."""

    def __init__(self, *, done: Callable[[], None]) -> None:
        self._done = done
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="clerk")
        self._errand: Future[Any] | None = None

    @property
    def is_engaged(self) -> bool:
        return self._errand is not None

    @property
    def is_away(self) -> bool:
        return self._errand is not None and not self._errand.done()

    @property
    def is_back(self) -> bool:
        return self._errand is not None and self._errand.done()

    def send(self, errand: Callable[..., Any], *arguments: Any) -> None:
        self._errand = self._thread.submit(errand, *arguments)
        self._errand.add_done_callback(lambda _: self._done())

    def do(self, errand: Callable[..., Any], *arguments: Any) -> None:
        """Run it here and now: handing it over and back would only take longer."""
        self._errand = Future()
        try:
            self._errand.set_result(errand(*arguments))
        except Exception as problem:
            self._errand.set_exception(problem)

    def receive(self) -> Any:
        """What the errand returned, or the exception that it raised."""
        errand, self._errand = self._errand, None
        return errand and errand.result()

    def dismiss(self) -> None:
        self._thread.shutdown()
