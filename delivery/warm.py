"""A few database connections that the threads of a process take turns with.

Each connection is a process of PostgreSQL's, with plans and caches of its own. Where two dozen threads have one each,
a statement finds those cold in the processor's: it takes nearly twice as long as on the one that was used last.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

MOST = 4  # at once, beside those of the threads

# Places, those used last at the end; a connection is made when its place is first taken. What a list does is done at
# once, so no thread comes between.
_spare: list[BaseDatabaseWrapper | None] = [None] * MOST


@contextmanager
def warm_connection() -> Iterator[None]:
    """Let this thread have the connection that was used last, if it is not in a transaction on its own."""
    own = connections[DEFAULT_DB_ALIAS]
    if own.in_atomic_block:
        yield
        return
    try:
        lent = _spare.pop() or _new()
    except IndexError:  # all of them are lent
        yield
        return
    connections[DEFAULT_DB_ALIAS] = lent
    try:
        lent.close_if_unusable_or_obsolete()
        lent.close_if_health_check_failed()
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = own
        _spare.append(lent)


def close() -> None:
    """Close those that nobody has; others are made when they are wanted."""
    for _ in range(len(_spare)):
        if spare := _spare.pop(0):
            spare.close()
        _spare.append(None)


def _new() -> BaseDatabaseWrapper:
    new = connections.create_connection(DEFAULT_DB_ALIAS)
    new.inc_thread_sharing()
    return new
