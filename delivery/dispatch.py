"""Fan-out: a stored event becomes a delivery for every subscription that wants it."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db import OperationalError, connection
from psycopg.errors import DeadlockDetected

from delivery.statements import run

T = TypeVar("T")

TRIES = 5
ASKED_BY_A_PERSON = 150  # the priority of what somebody retries or replays


@dataclass(frozen=True)
class Dispatched:
    """How many deliveries were made, and whether a pump is sure to find them without being rung."""

    deliveries: int
    expected: bool


class StaleConfiguration(Exception):
    """A subscription changed while its deliveries were made: roll back and begin anew."""


def dispatch(event_pks: Sequence[int], *, only: uuid.UUID | None = None, priority: int | None = None) -> Dispatched:
    """Make the deliveries of stored events, in this order. The last statement of a short transaction.

    Who gets them is who wants them, or `only` one subscription; `priority` overrides the events' own.
    """
    parameters = {"events": list(event_pks), "only": only and str(only), "priority": priority}
    ((deliveries, stale, expected),) = run("fan_out", parameters)
    if stale:
        raise StaleConfiguration
    return Dispatched(deliveries, bool(expected))


def dispatch_again(event_pk: int, *, only: uuid.UUID | None = None) -> Dispatched:
    """New deliveries of an event because somebody asks for them. Locked, it is not taken by retention meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM event WHERE id = %s FOR KEY SHARE", [event_pk])
    return dispatch([event_pk], only=only, priority=ASKED_BY_A_PERSON)


def persistently(transaction: Callable[[], T]) -> T:
    """Carry out a transaction that dispatches, and begin it anew if another has crossed it."""
    for _ in range(TRIES - 1):
        try:
            return transaction()
        except (OperationalError, StaleConfiguration) as problem:
            if not _may_pass(problem):
                raise
    return transaction()


def _may_pass(problem: Exception) -> bool:
    """Whether another try may go through: a subscription was just changed, or two transactions crossed."""
    return isinstance(problem, StaleConfiguration) or isinstance(problem.__cause__, DeadlockDetected)
