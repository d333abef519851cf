"""The Django project: settings, URLs, Celery, and the commands that run the whole."""

from hook0.celery import app as celery_app

__all__ = ["celery_app"]
