"""Fan-out: a stored event becomes a delivery for every subscription that wants it."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db import OperationalError, connection
from psycopg.errors import DeadlockDetected

from delivery.statements import statement

Result = TypeVar("Result")

TRIES = 5


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
    with connection.cursor() as cursor:
        cursor.execute(
            statement("fan_out"), {"events": list(event_pks), "only": only and str(only), "priority": priority}
        )
        deliveries, stale, expected = cursor.fetchone() or (0, 0, False)
    if stale:
        raise StaleConfiguration
    return Dispatched(deliveries, bool(expected))


def until_it_passes(transaction: Callable[[], Result]) -> Result:
    """Run a transaction; again, if a subscription changed while its deliveries were made, or if two have crossed."""
    for tries_left in reversed(range(TRIES)):
        try:
            return transaction()
        except (OperationalError, StaleConfiguration) as problem:
            if not tries_left or not _may_pass(problem):
                raise
    raise AssertionError  # the last try has returned or raised


def _may_pass(problem: Exception) -> bool:
    return isinstance(problem, StaleConfiguration) or isinstance(problem.__cause__, DeadlockDetected)
