"""Transactions that are rather left for the next round than held up, or holding others up, by a lock."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.errors import LockNotAvailable


@contextmanager
def in_passing(*, seconds: float = 0.5) -> Iterator[CursorWrapper]:
    """Undone if a lock is not to be had within a moment: whoever comes after one that waits for a table waits, too."""
    try:
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{seconds * 1000:.0f}ms"])
            yield cursor
    except OperationalError as problem:
        if not isinstance(problem.__cause__, LockNotAvailable):
            raise
