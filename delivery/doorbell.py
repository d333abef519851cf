"""Ringing for a pump, when none is known to be awake. It costs more than a delivery, so it is coalesced."""

import logging
import time

from kombu.exceptions import OperationalError

from delivery.tasks import pump

logger = logging.getLogger(__name__)

QUIET_SECONDS = 0.05  # after a ring
SULK_SECONDS = 5.0  # after the broker did not answer: beat, or a pump that is awake, finds the work anyway
MESSAGE_LIFE_SECONDS = 5

_quiet_until = 0.0


def ring() -> None:
    """Wake a pump. Never fails: a broker that is away costs a little latency, not an event."""
    global _quiet_until  # noqa: PLW0603 - one doorbell per process is the point
    now = time.monotonic()
    if now < _quiet_until:
        return
    _quiet_until = now + SULK_SECONDS  # for the other threads, while this one finds out
    try:
        pump.apply_async(expires=MESSAGE_LIFE_SECONDS, retry=False)
    except (OperationalError, OSError) as problem:
        logger.warning("The broker does not answer, deliveries wait for the next look: %s", problem)
    else:
        _quiet_until = now + QUIET_SECONDS
