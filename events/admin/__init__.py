"""What came in, and what is sent once more."""

from events.admin import bulk_loads, events, replays, undelivered

__all__ = ["bulk_loads", "events", "replays", "undelivered"]
