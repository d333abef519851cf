"""The doors for Celery. A message says `there may be work` and carries no state: losing or doubling one is harmless."""

from celery import shared_task

from delivery import maintenance, worker
from delivery.stopping import stopping

LINGER_SECONDS = 1.0


@shared_task
def pump() -> None:
    """Deliver what is due."""
    worker.pump(stopping=stopping, linger=LINGER_SECONDS)


@shared_task
def reap() -> None:
    """Give back what dead pumps held."""
    maintenance.reap()


@shared_task
def keep_partitions() -> None:
    """Make the attempt log's days ahead and drop those past retention."""
    maintenance.make_partitions()
    maintenance.drop_partitions()
