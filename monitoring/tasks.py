"""The doors for Celery."""

from celery import shared_task

from monitoring import fifo_log


@shared_task
def report_held_lanes() -> None:
    """Say in the log which lanes have been held for long."""
    fifo_log.report_held_lanes()
