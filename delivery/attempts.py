"""Request attempts as one list: those that are pending, and those that have ended."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.db.models import OuterRef, Subquery

from delivery.attempt_ids import FIRST, LAST, delivery_id_of, made_at
from delivery.models import AttemptLog, AttemptProgress, RequestAttempt
from delivery.progress import progress_of
from delivery.statements import statement
from subscriptions.models import Subscription

State = Literal["waiting", "pending", "in_progress", "successful", "failed"]

PENDING: frozenset[State] = frozenset({"waiting", "pending", "in_progress"})
ENDED: frozenset[State] = frozenset({"successful", "failed"})

# The planner cannot know how near a page is, and would rather sort all there are. (Of one event there are few.)
_WALK = "SET LOCAL enable_sort = off"

LOOKED_AT = 1_500  # where no index has what is sought, on a page of the admin

ROUNDED = timedelta(milliseconds=1)  # an id may say a little more than the clock


@dataclass(frozen=True)
class Sought:
    """Which attempts of an application; None is any. `since` and `before` are an interval of ids: of time, too."""

    application_id: uuid.UUID
    since: uuid.UUID = FIRST
    before: uuid.UUID = LAST
    subscription_id: uuid.UUID | None = None
    event_id: uuid.UUID | None = None
    event_types: Sequence[str] | None = None  # as patterns for LIKE
    labels: Sequence[tuple[str, str]] | None = None  # of the event: it has all of these
    states: Collection[State] | None = None
    lane_id: int | None = None
    error_name: str | None = None
    http_status: int | None = None


@dataclass(frozen=True)
class Status:
    """Where an attempt stands, in Hook0's words."""

    type: State
    since: datetime | None = None
    until: datetime | None = None
    at: datetime | None = None
    full_processing_ms: int | None = None


@dataclass(frozen=True)
class Attempt:
    """One try of a delivery: one that has ended, the one under way, or the next."""

    id: uuid.UUID
    event_id: uuid.UUID
    event_type: str
    subscription_id: uuid.UUID
    description: str
    lane_id: int | None
    lane_seq: int | None
    number: int
    due_at: datetime
    picked_at: datetime | None
    ended_at: datetime | None
    error_name: str | None
    http_status: int | None
    state: State
    progress: AttemptProgress | None = None

    @property
    def delivery_id(self) -> uuid.UUID:
        return delivery_id_of(self.id)

    @property
    def created_at(self) -> datetime:
        return made_at(self.id)

    @property
    def succeeded_at(self) -> datetime | None:
        return self.ended_at if self.state == "successful" else None

    @property
    def failed_at(self) -> datetime | None:
        return self.ended_at if self.state == "failed" else None

    @property
    def response_id(self) -> uuid.UUID | None:
        return self.id if self.ended_at else None

    @property
    def status(self) -> Status:
        if self.ended_at:
            took = self.ended_at - max(self.created_at, self.due_at)
            return Status(self.state, at=self.ended_at, full_processing_ms=max(0, took // timedelta(milliseconds=1)))
        if self.state == "waiting":
            return Status(self.state, since=self.created_at, until=self.due_at)
        return Status(self.state, since=self.picked_at or max(self.created_at, self.due_at))


def find_attempts(sought: Sought, *, most: int) -> list[Attempt]:
    """The newest that are sought, so many at most."""
    pending, ended = _states(sought)
    parameters = asdict(sought) | {
        "labels": [orjson.dumps({key: value}).decode() for key, value in sought.labels] if sought.labels else None,
        "states": sorted(pending) if pending != PENDING else None,
        "failed": "failed" in ended if len(ended) == 1 else None,
        "with_pending": bool(pending),
        "with_ended": bool(ended),
        "first_delivery": delivery_id_of(sought.since),
        "ended_since": made_at(sought.since) - ROUNDED,
        "margin": settings.LEASE_MARGIN,
        "most": most,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        if sought.event_id is None:
            cursor.execute(_WALK)
        cursor.execute(statement("list_attempts"), parameters)
        found = [Attempt(*row) for row in cursor.fetchall()]
    return _with_progress(found)


def among_newest(sought: Sought) -> Sought:
    """The same among the newest, where no index has what is sought; from its `since`, one can go on.

    Of each subscription so many pending deliveries are looked at, and of all so many tries that have ended.
    """
    asked = (sought.labels, sought.event_types, sought.lane_id, sought.error_name, sought.http_status)
    if sought.event_id or not any(each is not None for each in asked):
        return sought
    pending, ended = _states(sought)
    subscriptions = Subscription.objects.filter(application=sought.application_id, deleted_at=None)
    tries = AttemptLog.objects.filter(application=sought.application_id, id__lt=sought.before)
    if sought.subscription_id:
        subscriptions = subscriptions.filter(pk=sought.subscription_id)
        tries = tries.filter(subscription=sought.subscription_id)
    if ended == {"failed"}:
        tries = tries.filter(error_name__isnull=False)
    waiting = RequestAttempt.objects.filter(subscription=OuterRef("pk"), lease_until=None, id__lt=sought.before)
    edges = Subquery(waiting.order_by("-id").values("id")[LOOKED_AT - 1 : LOOKED_AT])
    cut_short = subscriptions.annotate(edge=edges).filter(edge__isnull=False).order_by("-edge")
    found = [
        *(tries.order_by("-id").values_list("id", flat=True)[LOOKED_AT - 1 : LOOKED_AT] if ended else ()),
        *(cut_short.values_list("edge", flat=True)[:1] if pending else ()),
    ]
    return replace(sought, since=max(sought.since, *found)) if found else sought


def _with_progress(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Those under way with what their consumers have reported."""
    under_way = [each.id for each in attempts if each.state == "in_progress"]
    reported = progress_of(under_way) if under_way else {}
    return [replace(each, progress=reported[each.id]) if each.id in reported else each for each in attempts]


def find_ended(attempt: uuid.UUID) -> AttemptLog | None:
    """One try that has ended, with its response."""
    ended = AttemptLog.objects.filter(id=attempt, accepted=True, ended_at__gte=made_at(attempt) - ROUNDED)
    return ended.first()


def _states(sought: Sought) -> tuple[frozenset[State], frozenset[State]]:
    """The states that can be meant, of pending and of ended attempts: only the latter have an answer or an error."""
    wanted = PENDING | ENDED if sought.states is None else frozenset(sought.states)
    if sought.error_name is not None or (sought.http_status is not None and not 200 <= sought.http_status < 300):
        wanted &= {"failed"}
    elif sought.http_status is not None:
        wanted &= ENDED
    return wanted & PENDING, wanted & ENDED
