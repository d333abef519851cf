"""A flag that a Celery worker raises for its children: finish what is in flight, claim no more.

Celery's warm shutdown waits for its children without telling them, and a pump may have work for hours.
"""

import mmap
from typing import Any

from celery.signals import worker_shutting_down

_flag = mmap.mmap(-1, 1)  # anonymous and shared with every child that is forked after this


def stopping() -> bool:
    return _flag[0] != 0


@worker_shutting_down.connect
def stop(**_: Any) -> None:
    _flag[0] = 1
