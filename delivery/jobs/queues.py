"""The queues themselves: made, changed and deleted."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from delivery.jobs.models import JobQueue, StoredJob
from delivery.jobs.states import ENDED
from delivery.problems import JobQueueConflict
from delivery.waking import notify


def create_queue(application_id: uuid.UUID, name: str, **settings: Any) -> JobQueue:
    """A new queue of this name."""
    return _saved(JobQueue(application_id=application_id, name=name, **settings))


def change_queue(queue: JobQueue, fields: Mapping[str, Any]) -> JobQueue:
    """Leases and retries count for what is assigned and added from now on."""
    for field, value in fields.items():
        setattr(queue, field, value)
    return _saved(queue)


def delete_queue(queue: JobQueue) -> None:
    """The queue goes with its jobs, if all of these are over."""
    with transaction.atomic():
        JobQueue.objects.select_for_update().filter(pk=queue.pk).get()  # no job comes in meanwhile
        if StoredJob.objects.filter(queue=queue).exclude(status__in=ENDED).exists():
            raise JobQueueConflict("Some jobs of this queue are not over. Cancel them first, or wait for them.")
        notify(str(queue.pk))  # its streams end
        queue.delete()


def _saved(queue: JobQueue) -> JobQueue:
    try:
        with transaction.atomic():
            queue.save()
    except IntegrityError:
        raise JobQueueConflict(f"The application has another job queue {queue.name!r}. Take another name.") from None
    return queue
