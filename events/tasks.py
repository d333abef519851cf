"""The doors for Celery; each is one round of one job."""

from celery import shared_task

from events import per_day, retention


@shared_task
def count_events() -> None:
    """Count the events of each day."""
    per_day.count_events()


@shared_task
def delete_old_events() -> None:
    """Delete what is past retention."""
    retention.delete_old_events()
