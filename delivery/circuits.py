"""When an endpoint is in trouble, its subscription's circuit opens, and nobody's window fills with its time-outs."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from delivery.claimed import Claimed
from delivery.outcome import E_WORKER_LOST, Outcome

OPENS_AFTER = 10  # outages in a row
PAUSE_SECONDS = (5.0, 300.0)  # doubling, from the first opening on


@dataclass
class Sign:
    """What a batch of results says of one endpoint: how many outages, or that it is alive."""

    outages: int = 0
    alive: bool = False
    probe: bool = False


def read_signs(results: Iterable[tuple[Claimed, Outcome]]) -> dict[uuid.UUID, Sign]:
    """The signs worth writing down: outages, and the first answer after some. Good news of the healthy is no news."""
    signs: dict[uuid.UUID, Sign] = {}
    for claimed, outcome in results:
        if outcome.error_name == E_WORKER_LOST or not (outcome.is_outage or claimed.failing):
            continue
        sign = signs.setdefault(claimed.subscription_id, Sign())
        sign.outages += outcome.is_outage
        sign.alive |= not outcome.is_outage
        sign.probe |= claimed.is_probe
    return signs
