"""The release of bulk loads as a Celery worker does it, twice a second, in a process of its own. Ends with SIGTERM."""

import os
import time

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hook0.settings")

import logging

import django

django.setup()
logging.getLogger("delivery.doorbell").setLevel(logging.ERROR)  # the pumps are awake, and there is no broker

from events.tasks import release_bulk_loads  # noqa: E402 - it needs the settings

while True:
    began = time.monotonic()
    release_bulk_loads()
    time.sleep(max(0.0, began + 0.5 - time.monotonic()))
