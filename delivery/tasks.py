"""The doors for Celery. A message says `there may be work` and carries no state: losing or doubling one is harmless."""

import time

from celery import shared_task

from delivery import maintenance, progress, tallies, worker
from delivery.backlog import sample_backlog
from delivery.jobs.maintenance import clean_up_jobs as delete_old_jobs
from delivery.jobs.maintenance import take_lapsed_jobs
from delivery.stopping import stopping

LINGER_SECONDS = 1.0
# A pump may have work for hours; a broker may take a message back that is held for so long.
SHIFT_SECONDS = 300.0


@shared_task
def pump() -> None:
    """Deliver what is due; at the end of the shift, leave the rest to the next message."""
    shift_ends = time.monotonic() + SHIFT_SECONDS
    worker.pump(stopping=lambda: stopping() or time.monotonic() > shift_ends, linger=LINGER_SECONDS)
    if time.monotonic() > shift_ends:
        pump.delay()


@shared_task
def reap() -> None:
    """Give back what dead pumps held, and dead workers of jobs."""
    maintenance.reap()
    take_lapsed_jobs()


@shared_task
def clean_up_jobs() -> None:
    """Delete the completed jobs that are old enough."""
    delete_old_jobs()


@shared_task
def forget_pumps() -> None:
    """Forget the pumps that are no more, and how far tries had come that are long over."""
    maintenance.forget_pumps()
    progress.forget()


@shared_task
def forget_lanes() -> None:
    """Forget the lanes of keys that nothing comes for, and clear those that a verb left uncleared."""
    maintenance.forget_lanes()
    maintenance.clear_lanes()


@shared_task
def disable_failing() -> None:
    """Disable what has only failed for longer than its subscription allows."""
    maintenance.disable_failing()


@shared_task
def finish_deletions() -> None:
    """Delete what a deletion that broke off has left."""
    maintenance.finish_deletions()


@shared_task
def count_tries() -> None:
    """Count how tries have ended, and what waits, for the charts."""
    tallies.count_tries()
    sample_backlog()


@shared_task
def keep_partitions() -> None:
    """Make the attempt log's days ahead and drop those past retention."""
    maintenance.make_partitions()
    maintenance.drop_partitions()
