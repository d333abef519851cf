"""One pump per process, with its connection and its open sockets kept from one run to the next."""

import os
import socket
from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings

from delivery.claimed import Claimed
from delivery.database import connect
from delivery.pump import Pump
from delivery.queue import Queue
from delivery.sender import Sender


def pump(*, stopping: Callable[[], bool], linger: float, name: str | None = None) -> int:
    """Run this process's pump until there is nothing to do: as one for everybody, or as the worker of a name."""
    return Pump(
        _queue(os.getpid(), name),
        _sender(os.getpid()),
        window=settings.DELIVERY_WINDOW,
        linger=linger,
        stopping=stopping,
    ).run()


# Keyed by process: what a parent opened is not to be used by its children.
@cache
def _queue(pid: int, worker: str | None) -> Queue:
    process = f"{worker or socket.gethostname()}:{pid}"
    return Queue(
        lambda: connect(name=f"hook0 pump {process}"),
        lease_margin=settings.LEASE_MARGIN,
        process=process,
        worker=worker,
    )


@cache
def _sender(_pid: int) -> Sender[Claimed]:
    return new_sender()


def new_sender() -> Sender[Any]:
    """A sender as this installation wants them. Whoever opens it closes it."""
    return Sender(
        allowed=settings.ALLOWED_TARGETS,
        body_limit=settings.RESPONSE_BODY_LIMIT,
        connect_timeout=settings.CONNECT_TIMEOUT,
    )
