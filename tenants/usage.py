"""What an organization or an application has done with hook0 so far."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """Of some applications together: how many, what there is in them, and what came today."""

    applications: int
    has_event_type: bool
    has_subscription: bool
    has_event: bool
    events_today: int | None  # counted only where quotas are enforced
