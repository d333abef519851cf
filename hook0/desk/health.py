"""How a subscription is, at a glance."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from delivery.models import Lane, Phase
from subscriptions.models import Subscription
from tenants.cells import Tone

HEALTHS = ("ok", "retrying", "circuit open", "blocked", "paused", "disabled")


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


def of_health(subscriptions: QuerySet[Any], name: str, *, now: datetime | None = None) -> QuerySet[Any]:
    """Those of which `health_of` says this, among what `with_health` has made."""
    gravest_first = {
        "disabled": Q(is_enabled=False),
        "paused": Q(is_paused=True),
        "blocked": Q(has_blocked=True),
        "circuit open": Q(state__circuit_until__gt=now or datetime.now(UTC)),
        "retrying": Q(state__failures__gt=0) | Q(state__failing_since__isnull=False),
        "ok": Q(),
    }
    for each, holds in gravest_first.items():
        if each == name:
            return subscriptions.filter(holds)
        subscriptions = subscriptions.exclude(holds)
    return subscriptions.none()
