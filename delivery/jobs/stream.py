"""A stream has so many places for jobs, and is handed a batch whenever there are jobs for its free ones.

It may be read in any thread. How many of its places are taken is in the table: whoever ends a job frees its place.
"""

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, Self

import orjson
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from delivery.jobs.job import Assigned, Job

logger = logging.getLogger(__name__)

PAUSES = (0.0, 1.0, 2.0, 4.0)  # between the tries to give jobs back to a database that is away
NOT_HANDED_OUT = "The stream ended before this job was handed out."


class Source(Protocol):
    """What a stream asks of its queue."""

    id: uuid.UUID

    def assign(self, assignee: str, *, tags: Sequence[str], most: int, at_once: int, stream: uuid.UUID) -> Assigned: ...

    def give_back(self, ids: Sequence[str], *, stream: uuid.UUID, error: str) -> None: ...


class Stream:
    """An iterator of batches of jobs that were assigned. It ends when it is closed, and raises what went wrong."""

    def __init__(
        self, source: Source, assignee: str, tags: Sequence[str], most: int, at_once: int | None = None
    ) -> None:
        self.id = uuid.uuid4()
        self.on_change: Callable[[], None] = lambda: None
        self.on_read: Callable[[], None] = lambda: None
        self.on_close: Callable[[], None] = lambda: None
        self.queue_id = source.id
        self._source, self._assignee, self._tags, self._most = source, assignee, set(tags), most
        self._at_once = at_once
        self._changed = threading.Condition()
        self._batches: deque[list[Job]] = deque()
        self.is_over = False
        self._is_full = self._is_behind = False
        self._is_due = True
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[Job]:
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self.is_over)
            return self._take()

    def take(self) -> list[Job]:
        """The next batch if there is one: else none, and at the end StopIteration."""
        with self._changed:
            return self._take() if self._batches or self.is_over else []

    def put_back(self, jobs: list[Job]) -> None:
        """These were taken, but did not get to their worker."""
        with self._changed:
            if jobs:  # an empty batch would hide those behind it
                self._batches.appendleft(jobs)

    def end(self, error: Exception | None = None) -> None:
        """Let its reader come to the end. At once: the rest is left to `close`."""
        with self._changed:
            self.is_over = True
            self._error = self._error or error
            self._tell()

    def close(self, error: Exception | None = None) -> None:
        """What was assigned and not handed out goes back, and can be assigned to others."""
        self.on_close()
        self.end(error)
        with self._changed:
            left = [job for batch in self._batches for job in batch]
            self._batches.clear()
        self._give_back(left)

    # --- said by the thread that hears, and the one that assigns

    def hear(self, told: str) -> bool:
        """Whether there may be work now; of what it has no place for, a stream takes no notice."""
        with self._changed:
            if told:
                word = orjson.loads(told)
                if str(self.id) in word["streams"]:
                    self._is_full = False
                elif self._is_full or not any(self._tags <= set(tags) for tags in word["tags"]):
                    return False
            is_news = not self._is_due
            self._is_due = True
            return is_news

    def fill(self) -> bool:
        """Have jobs assigned to the free places; whether there may be more."""
        with self._changed:
            self._is_due = False
            self._is_behind = bool(self._at_once and self._batches)
            if self._is_behind:
                return False
        places = {"most": self._most, "at_once": self._at_once or self._most}
        assigned = self._source.assign(self._assignee, tags=sorted(self._tags), stream=self.id, **places)
        if assigned.is_queue_gone:
            self.end()
        with self._changed:
            self._is_full = assigned.is_full and not self._is_due  # a place may have been freed since
            if not self.is_over and assigned.jobs:
                self._batches.append(assigned.jobs)
                self._tell()
                return not self._is_full
        self._give_back(assigned.jobs)
        return False

    def _take(self) -> list[Job]:
        if self._batches and not self.is_over:
            batch = self._batches.popleft()
            if self._is_behind:
                self.on_read()
            return batch
        if self._error:
            raise self._error
        raise StopIteration

    def _tell(self) -> None:
        self._changed.notify_all()
        self.on_change()

    def _give_back(self, jobs: list[Job], pauses: Sequence[float] = PAUSES) -> None:
        if not jobs:
            return
        try:
            self._source.give_back([job.id for job in jobs], stream=self.id, error=NOT_HANDED_OUT)
        except (DatabaseError, InterfaceError) as problem:
            connection.close()
            if pauses and isinstance(problem, (OperationalError, InterfaceError)):
                time.sleep(pauses[0])
                self._give_back(jobs, pauses[1:])
            else:
                logger.warning("Jobs of a stream that ended stay assigned until their leases end: %s", problem)
