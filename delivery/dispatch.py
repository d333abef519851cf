"""Fan-out: a stored event becomes a delivery for every subscription that wants it."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from delivery.statements import statement


@dataclass(frozen=True)
class Dispatched:
    """How many deliveries were made, and whether a pump is sure to find them without being rung."""

    deliveries: int
    expected: bool


class StaleConfiguration(Exception):
    """A subscription changed while its deliveries were made: roll back and begin anew."""


def dispatch(event_pks: Sequence[int]) -> Dispatched:
    """Make the deliveries of stored events, in this order. The last statement of a short transaction."""
    with connection.cursor() as cursor:
        cursor.execute(statement("fan_out"), {"events": list(event_pks)})
        deliveries, stale, expected = cursor.fetchone() or (0, 0, False)
    if stale:
        raise StaleConfiguration
    return Dispatched(deliveries, bool(expected))
