"""How much one may have, where quotas are enforced. They are off by default: then everything is without limit."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from tenants.problems import Problem

UNLIMITED = 2_147_483_647  # how the API writes it


@dataclass(frozen=True)
class Limits:
    """The most there may be of each. Nothing here limits members and retention."""

    members_per_organization: int = UNLIMITED
    applications_per_organization: int = UNLIMITED
    events_per_day: int = UNLIMITED
    days_of_events_retention: int = UNLIMITED
    subscriptions_per_application: int = UNLIMITED
    event_types_per_application: int = UNLIMITED


def limits() -> Limits:
    """What holds in this installation."""
    if not settings.QUOTAS_ENFORCED:
        return Limits()
    return Limits(
        applications_per_organization=settings.APPLICATIONS_PER_ORGANIZATION,
        events_per_day=settings.EVENTS_PER_DAY,
        subscriptions_per_application=settings.SUBSCRIPTIONS_PER_APPLICATION,
        event_types_per_application=settings.EVENT_TYPES_PER_APPLICATION,
    )


def require_room(owner: QuerySet[Any], owned: QuerySet[Any], limit: int, refusal: type[Problem]) -> None:
    """Go on only if one more fits. Who adds at the same time waits for the owner's row until this transaction ends."""
    if limit == UNLIMITED:
        return
    owner.select_for_update(no_key=True).get()
    if owned.count() >= limit:
        raise refusal
