"""Identifiers that sort by the time they were made."""

import os
import time
import uuid


def new_id() -> uuid.UUID:
    """A UUID of version 7 (Python has its own from 3.14 on)."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = milliseconds << 80 | 0x7 << 76 | (random >> 68) << 64 | 0b10 << 62 | random & (1 << 62) - 1
    return uuid.UUID(int=value)
