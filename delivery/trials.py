"""A webhook that somebody sends to see what comes back: as the product sends them all, but past the queue."""

import time
import uuid
from threading import BoundedSemaphore

from delivery.outcome import Outcome
from delivery.problems import TooManyTests
from delivery.webhook import signed_request
from delivery.worker import new_sender
from subscriptions.models import Subscription
from subscriptions.problems import SubscriptionIsPull

# Each holds a thread of the API for as long as the endpoint takes; a process has four.
_slots = BoundedSemaphore(2)


def send_test(
    subscription: Subscription, *, event_id: uuid.UUID, event_type: str, payload: bytes, content_type: str
) -> Outcome:
    """What the endpoint answers within the subscription's time-out. Nothing is kept of it, and no limit counts it."""
    if subscription.pulls:
        raise SubscriptionIsPull
    if not _slots.acquire(blocking=False):
        raise TooManyTests
    try:
        return _send(subscription, event_id, event_type, payload, content_type)
    finally:
        _slots.release()


def _send(
    subscription: Subscription, event_id: uuid.UUID, event_type: str, payload: bytes, content_type: str
) -> Outcome:
    request = signed_request(
        method=subscription.method,
        url=subscription.url,
        custom=subscription.headers,
        ours={"X-Hook0-Delivery-Id": str(uuid.uuid4()), "X-Hook0-Attempt": "1", "X-Hook0-Test": "true"},
        event_id=event_id,
        event_type=event_type,
        payload=payload,
        content_type=content_type,
        secret=subscription.secret,
        previous_secret=subscription.live_previous_secret,
        timestamp=int(time.time()),
        timeout_ms=subscription.timeout_ms,
    )
    sender = new_sender()
    try:
        sender.start(request, None)
        while not (ended := sender.wait(1.0)):
            pass
    finally:
        sender.close()
    return ended[0][1]
