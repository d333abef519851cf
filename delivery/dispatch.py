"""Fan-out: a stored event becomes a delivery for every subscription that wants it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from delivery.statements import run


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
