"""The id of a request attempt: its delivery's id, with the number of the try in the last 16 bits.

So a delivery in a lane need not be written for every try, each try still has an id of its own that
is known before it ends, and either is found from the other.

They begin with the time the delivery was made, in milliseconds: an interval of ids is one of time.
"""

import uuid
from datetime import UTC, datetime, timedelta

_TRY_BITS = 0xFFFF
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
FIRST, LAST = uuid.UUID(int=0), uuid.UUID(int=(1 << 128) - 1)


def attempt_id(delivery_id: uuid.UUID, try_number: int) -> uuid.UUID:
    """The id of a try; tries count from 1."""
    return uuid.UUID(int=delivery_id.int | (try_number - 1))


def delivery_id_of(attempt: uuid.UUID) -> uuid.UUID:
    return uuid.UUID(int=attempt.int & ~_TRY_BITS)


def try_number_of(attempt: uuid.UUID) -> int:
    return (attempt.int & _TRY_BITS) + 1


def tries_of(delivery_id: uuid.UUID) -> tuple[uuid.UUID, uuid.UUID]:
    """The interval of all tries of a delivery, without its end."""
    first = delivery_id_of(delivery_id)
    return first, uuid.UUID(int=min(first.int + _TRY_BITS + 1, LAST.int))


def made_at(attempt: uuid.UUID) -> datetime:
    """When the delivery was made. (An id that is not ours may say more than a datetime can.)"""
    return _EPOCH + timedelta(milliseconds=min(attempt.int >> 80, _LATEST))


def first_from(moment: datetime) -> uuid.UUID:
    """Where the ids begin that were made at this moment or later."""
    return _first_of(-(-_microseconds(moment) // 1000))


def first_after(moment: datetime) -> uuid.UUID:
    """Where the ids begin that were made later than this moment."""
    return _first_of(_microseconds(moment) // 1000 + 1)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _first_of(millisecond: int) -> uuid.UUID:
    return uuid.UUID(int=max(0, millisecond) << 80)
