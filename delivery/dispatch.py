"""Fan-out: an event becomes a delivery for every subscription that wants it."""

import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from django.db import IntegrityError, OperationalError, connection
from psycopg.errors import DeadlockDetected, SerializationFailure, UniqueViolation

from delivery.binary_arrays import ByteStrings, Ids
from delivery.statements import run

T = TypeVar("T")

TRIES = 5
ASKED_BY_A_PERSON = 150  # the priority of what somebody retries or replays
BACKFILL = 30  # that of bulk loads


@dataclass(frozen=True)
class Dispatched:
    """How many deliveries were made, and whether a pump is sure to find them without being rung."""

    deliveries: int
    expected: bool


@dataclass(frozen=True)
class Stored:
    """What was stored of new events, which are told apart by their place among those that were given, from 1 on."""

    at: datetime
    known_types: Collection[str]
    left_out: Collection[int]  # sent before, or of a type that is not known


def publish(
    application_id: uuid.UUID,
    events: str,
    ids: Sequence[uuid.UUID],
    payloads: Sequence[bytes],
    *,
    types: Collection[str],
    ids_are_ours: bool,
) -> tuple[Stored, Dispatched]:
    """Store new events of an application, a list in JSON with an id and a payload for each, and make their deliveries;
    both in this order. `types` are all that occur. Ids that are ours are taken as new, which is faster: should one of
    them not be, this raises IntegrityError."""
    new = {
        "new": events, "ids": Ids(ids), "payloads": ByteStrings(payloads),
        "application": str(application_id), "types": list(types),
    }  # fmt: skip
    answer = _fan_out(new, without=_SENT_BEFORE if ids_are_ours else "")
    return Stored(answer.at, answer.known_types, answer.left_out), answer.dispatched


def dispatch(
    event_pks: Sequence[int], *, only: uuid.UUID | None = None, priority: int | None = None, apart: float = 0
) -> Dispatched:
    """Make the deliveries of stored events, in this order. The last statement of a short transaction.

    Who gets them is who wants them, or `only` one subscription; `priority` overrides the events' own. Those of each
    event are due so many seconds `apart` from those of the one before.
    """
    parameters = {"stored": list(event_pks), "only": only and str(only), "priority": priority, "apart": apart}
    return _fan_out(parameters).dispatched


_SENT_BEFORE = "ON CONFLICT (application_id, event_id) DO NOTHING"
_NOTHING: dict[str, Any] = {
    "new": "[]", "ids": Ids(), "payloads": ByteStrings(), "application": None, "types": [],
    "stored": [], "only": None, "priority": None, "apart": 0,
}  # fmt: skip


class _Answer(NamedTuple):
    """The row that fan_out.sql ends with."""

    at: datetime
    known_types: list[str]
    left_out: list[int]
    deliveries: int
    expected: bool | None
    told: int
    begun_anew: None

    @property
    def dispatched(self) -> Dispatched:
        return Dispatched(self.deliveries, bool(self.expected))


def _fan_out(parameters: dict[str, Any], *, without: str = "") -> _Answer:
    (row,) = run("fan_out", _NOTHING | parameters, without=without)
    return _Answer(*row)


def dispatch_again(event_pk: int, *, only: uuid.UUID | None = None) -> Dispatched:
    """New deliveries of an event because somebody asks for them."""
    keep([event_pk])
    return dispatch([event_pk], only=only, priority=ASKED_BY_A_PERSON)


def keep(event_pks: Sequence[int]) -> None:
    """Lock events, so that retention does not take them while deliveries of them are made; what is gone stays gone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM event WHERE id = ANY (%s) ORDER BY id FOR KEY SHARE", [list(event_pks)])


def persistently(transaction: Callable[[], T]) -> T:
    """Carry out a transaction that dispatches, and begin it anew if another has crossed it."""
    for _ in range(TRIES - 1):
        try:
            return transaction()
        except (OperationalError, IntegrityError) as problem:
            # two crossed; a subscription was just changed (begin_anew); an id that we drew had been sent before
            if not isinstance(problem.__cause__, (DeadlockDetected, SerializationFailure, UniqueViolation)):
                raise
    return transaction()
