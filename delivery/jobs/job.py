"""A job, as it goes in and as it comes out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from delivery.jobs.states import State


@dataclass(frozen=True)
class NewJob:
    """What somebody wants done. The id is the caller's, once in its queue."""

    id: str
    type: str = ""
    definition: bytes = b""
    tags: Sequence[str] = ()
    key: str | None = None  # in a FIFO queue
    priority: int = 100
    retry_limit: int | None = None  # None: that of the queue


@dataclass(frozen=True)
class Job:
    """A job as it stood when it was read. Who was assigned last, and when, is kept when it is over."""

    id: str
    status: State
    type: str
    definition: bytes
    tags: list[str]
    key: str | None
    priority: int
    created_at: datetime
    started_at: datetime | None
    finalized_at: datetime | None
    last_retry_at: datetime | None
    assignee: str | None
    assigned_at: datetime | None
    lease_until: datetime | None
    retry_count: int
    retry_limit: int | None
    error: str | None
    result: bytes | None
    percent: int
    stage: str | None
    events_count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", State(self.status))


@dataclass(frozen=True)
class Assigned:
    """Jobs that were assigned just now, and whether they took all the places that there were."""

    jobs: list[Job]
    is_full: bool
    is_queue_gone: bool


@dataclass(frozen=True)
class Statistics:
    """How many jobs have all of the tags."""

    tags: Sequence[str]
    total_jobs: int
    pending_jobs: int
    running_jobs: int  # those that are being cancelled, too
    completed_jobs: int
    stopped_jobs: int  # in a final state other than COMPLETED
    failed_jobs: int  # those that are tried again, and those that have used up their retries
    total_retries: int


@dataclass(frozen=True)
class Cancelled:
    """The ids of what was cancelled, and of what is unknown: there is no such job, or it is over."""

    cancelled: list[str]
    unknown: list[str]
