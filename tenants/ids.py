"""Identifiers that sort by the time they were made."""

import random
import time
import uuid


def new_id() -> uuid.UUID:
    """A UUID of version 7 (Python has its own from 3.14 on). It is no secret."""
    return uuid.UUID(int=_draw())


def new_ids(count: int) -> list[uuid.UUID]:
    """So many that follow each other, for an index takes them side by side."""
    first = _draw()
    return [uuid.UUID(int=each) for each in range(first, first + count)]


def _draw() -> int:
    """The time, and 73 random bits; the one before the last 61 is left free for what is counted on from here.

    Asking the system for randomness would let another thread have the interpreter.
    """
    milliseconds = time.time_ns() // 1_000_000
    drawn = random.getrandbits(73)
    return milliseconds << 80 | 0x7 << 76 | (drawn >> 61) << 64 | 0b10 << 62 | drawn & (1 << 61) - 1
