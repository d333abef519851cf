"""Word that there may be work: NOTIFY from whoever makes it, and one LISTEN per process for all who wait there.

A word is a key, which is what somebody waits for, and maybe more that is told with it. Words may be lost or be for
nothing: each second it is looked which keys have work, whatever was heard.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psycopg

from delivery.statements import run

logger = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]
Wake = Callable[[str], object]
Look = Callable[[Connection, Sequence[str]], Iterable[str]]

CHANNEL = "hook0_work"  # fan_out.sql and notify.sql name it
FLOOR_SECONDS = 1.0
PAUSE_SECONDS = 1.0  # until the database is asked again


def notify(key: str, told: str = "") -> None:
    """Wake who waits for this key, in whatever process, once the transaction is committed. At most 8,000 bytes."""
    run("notify", {"word": f"{key} {told}".rstrip()})


class Waker:
    """Listens in a thread of its own, and calls those who wait from there: they must be quick, and never fail."""

    def __init__(self, connect: Callable[[], Connection], *looks: Look) -> None:
        """Each of `looks` is told the keys that somebody waits for, and says which of them have work now."""
        self._connect, self._looks = connect, looks
        self._waiting: dict[str, list[Wake]] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, key: str, wake: Wake) -> None:
        """Call `wake` with what is told whenever there may be work for this key. The first one starts the thread."""
        with self._lock:
            self._waiting.setdefault(key, []).append(wake)
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="waker", daemon=True)
                self._thread.start()

    def remove(self, key: str, wake: Wake) -> None:
        with self._lock:
            self._waiting[key].remove(wake)
            if not self._waiting[key]:
                del self._waiting[key]

    def close(self) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                with self._connect() as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    while not self._over.is_set():
                        self._look(connection)
                        for word in connection.notifies(timeout=FLOOR_SECONDS):
                            self._wake(*word.payload.partition(" ")[::2])
            except psycopg.OperationalError as problem:
                logger.warning("The database does not answer, listening again in a moment: %s", problem)
                self._over.wait(PAUSE_SECONDS)

    def _look(self, connection: Connection) -> None:
        keys = list(self._waiting)
        for look in self._looks if keys else ():
            for key in look(connection, keys):
                self._wake(key, "")

    def _wake(self, key: str, told: str) -> None:
        with self._lock:
            waiting = list(self._waiting.get(key, ()))
        for wake in waiting:
            wake(told)
