"""The Celery application. Its messages are doorbells: losing or doubling one is harmless."""

import os
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import beat_init, worker_init, worker_ready

from hook0.beat import SCHEDULE
from tenants.garbage import look_rarely

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")

app = Celery("hook0")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = SCHEDULE
app.autodiscover_tasks()


@worker_init.connect
def settle(**_: Any) -> None:
    """Before the children are made, which share what was loaded as long as nobody writes there."""
    look_rarely()


@worker_ready.connect
@beat_init.connect
def report_ready(**_: Any) -> None:
    """Tell `manage.py up`, which waits for this file, that the process serves."""
    if path := os.environ.get("HOOK0_READY_FILE"):
        Path(path).touch()
