"""What keeps job queues going beside their workers: each function is one round."""

import logging
from datetime import timedelta

from django.db.models.functions import Now

from delivery.jobs.models import JobQueue, StoredJob
from delivery.jobs.queue import Queue

logger = logging.getLogger(__name__)


def take_lapsed_jobs() -> int:
    """Take jobs from workers that were silent for longer than their leases; how many."""
    lapsed = StoredJob.objects.filter(lease_until__lte=Now()).values_list("queue_id", flat=True)
    taken = sum(Queue(row).take_lapsed() for row in JobQueue.objects.filter(pk__in=set(lapsed)))
    if taken:
        logger.warning("The leases of %d jobs had ended: others may have them", taken)
    return taken


def clean_up_jobs() -> int:
    """Delete the completed jobs that are past the retention of their queues; how many."""
    limited = JobQueue.objects.filter(retention_seconds__isnull=False)
    return sum(Queue(row).clean_up_expired(timedelta(seconds=row.retention_seconds or 0)) for row in limited)
