"""Which FIFO subscriptions have series of their own, where processes count: the first to wait, and not too many."""

import fcntl
import uuid
from pathlib import Path

OTHER = "other"
FILE = "own_series"


class OwnSeries:
    """At most so many ids, the same in all processes of a machine: they are kept in a file beside the counters.

    An id stays for as long as the counters do. To give its place to another would make counters go back.
    """

    def __init__(self, folder: str, *, most: int) -> None:
        self._file = Path(folder) / FILE if folder else None
        self._most = most
        self._ids: set[str] = set()

    def label(self, subscription_id: uuid.UUID, *, worth_one: bool) -> str:
        """The id, if it has a series of its own, or else `other`."""
        wanted = str(subscription_id)
        if worth_one and wanted not in self._ids and len(self._ids) < self._most:
            self._add(wanted)
        return wanted if wanted in self._ids else OTHER

    def _add(self, wanted: str) -> None:
        if self._file is None:
            self._ids.add(wanted)
            return
        with self._file.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            self._ids = set(file.read().split())
            if wanted not in self._ids and len(self._ids) < self._most:
                file.write(f"{wanted}\n")
                self._ids.add(wanted)
