"""The id of a request attempt: its delivery's id, with the number of the try in the last 16 bits.

So a delivery in a lane need not be written for every try, each try still has an id of its own that
is known before it ends, and either is found from the other.
"""

import uuid

_TRY_BITS = 0xFFFF


def attempt_id(delivery_id: uuid.UUID, try_number: int) -> uuid.UUID:
    """The id of a try; tries count from 1."""
    return uuid.UUID(int=delivery_id.int | (try_number - 1))


def delivery_id_of(attempt: uuid.UUID) -> uuid.UUID:
    return uuid.UUID(int=attempt.int & ~_TRY_BITS)


def try_number_of(attempt: uuid.UUID) -> int:
    return (attempt.int & _TRY_BITS) + 1
