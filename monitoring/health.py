"""Whether what everything here depends on does answer."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from celery import current_app
from django.db import InterfaceError, OperationalError, connection
from kombu.exceptions import OperationalError as BrokerError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Check:
    """Whether it answered, and after how long."""

    ok: bool
    duration_ms: int


def check_database() -> Check:
    return _measure(_ask_database)


def check_broker() -> Check:
    return _measure(_ask_broker)


def _measure(ask: Callable[[], object]) -> Check:
    began = time.monotonic()
    try:
        ask()
    except (OperationalError, InterfaceError, BrokerError, OSError) as problem:
        logger.warning("Unhealthy: %s", problem)
        ok = False
    else:
        ok = True
    return Check(ok, round((time.monotonic() - began) * 1000))


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_broker() -> None:
    with current_app.connection_for_write() as broker:
        _ = broker.default_channel  # connects, and talks
