"""The doors for Celery. Each round may be missed or doubled: the next makes up for it."""

import time

from celery import shared_task

from delivery.stopping import stopping
from events import announcements, bulk_loads, leftovers, per_day, release, replays, retention

# Short: who gives back the work of dead pumps waits in the same queue.
SHIFT_SECONDS = 0.5
RELEASE_SECONDS = 0.35  # of the half second between two messages


@shared_task
def replay() -> None:
    """Move replays on; at the end of the shift, leave the rest to the next message."""
    shift_ends = time.monotonic() + SHIFT_SECONDS
    replays.work(stopping=lambda: stopping() or time.monotonic() > shift_ends)


@shared_task
def release_bulk_loads() -> None:
    """Release bulk loads, and tidy up behind them; at the end of the shift, leave the rest to the next message."""
    shift_ends = time.monotonic() + RELEASE_SECONDS
    bulk_loads.cancel_those_of_deleted_applications()
    leftovers.tidy(stopping=lambda: stopping() or time.monotonic() > shift_ends - RELEASE_SECONDS / 2)
    release.work(stopping=lambda: stopping() or time.monotonic() > shift_ends)


@shared_task
def announce() -> None:
    """Tell what has gone wrong, and what has recovered, to whoever subscribes to that."""
    announcements.announce()


@shared_task
def count_events() -> None:
    """Count the events of each day."""
    per_day.count_events()


@shared_task
def delete_old_events() -> None:
    """Delete what is past retention."""
    retention.delete_old_events()
