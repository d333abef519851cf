"""How a subscription is, at a glance."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from delivery.models import Lane, Phase
from subscriptions.models import Subscription
from tenants.cells import Tone


@dataclass(frozen=True)
class Health:
    name: str
    tone: Tone
    why: str = ""


def with_health(subscriptions: QuerySet[Subscription]) -> QuerySet[Any]:
    """What `health_of` looks at. The lanes are probed for in lane_blocked."""
    blocked = Lane.objects.filter(subscription=OuterRef("pk"), phase=Phase.BLOCKED)
    return subscriptions.select_related("state", "application").annotate(has_blocked=Exists(blocked))


def health_of(subscription: Any, *, now: datetime | None = None) -> Health:
    """The gravest thing that can be said of it."""
    state = getattr(subscription, "state", None)
    moment = now or datetime.now(UTC)
    if not subscription.is_enabled:
        return Health("disabled", "off", subscription.disabled_reason or "by somebody")
    if subscription.is_paused:
        return Health("paused", "off", "nothing is sent, nothing is lost")
    if subscription.has_blocked:
        return Health("blocked", "bad", "a lane waits for somebody to retry or skip")
    if state and state.circuit_until and state.circuit_until > moment:
        return Health("circuit open", "bad", f"left alone until {state.circuit_until:%H:%M:%S} UTC, then probed")
    if state and (state.failures or state.failing_since):
        return Health("retrying", "busy", f"{state.failures} outages in a row")
    return Health("ok", "good")
