"""A few database connections that the threads of a process take turns with.

Each connection is a process of PostgreSQL's, with plans and caches of its own. Where two dozen threads have one each,
a statement finds those cold in the processor's: it takes nearly twice as long as on the one that was used last.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

MOST = 4  # of a process, beside those of its threads: so many batches at once keep it busy

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
        lent = _spare.pop()
    except IndexError:  # all of them are lent
        yield
        return
    try:
        connections[DEFAULT_DB_ALIAS] = lent = lent or _new()
        lent.close_if_unusable_or_obsolete()
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


def _forget() -> None:
    _spare[:] = [None] * MOST


os.register_at_fork(after_in_child=_forget)  # what a parent opened is not to be used by its children
