"""How often somebody may come: GCRA, in a file that the processes of this machine share.

A row of the table says by when somebody would have come at an even pace: one number is all that has to be kept, and
who has not come for a while needs no row. A row is 16 bytes, changed under a lock that the kernel gives back when its
holder dies. docs/explanation/rate-limits.md says why it is so.
"""

import fcntl
import hashlib
import mmap
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

ROW = struct.Struct("=QQ")  # who, and until when they have used up their time, in ns of the machine's clock
SET = 8  # rows that somebody may be in
SETS = 8192


@dataclass(frozen=True)
class Rate:
    """So many at an even pace, and so many at once. Nothing per second is no limit."""

    per_second: int
    burst: int


class Rates:
    """Who came how often, in a file of a megabyte that is open for writing."""

    def __init__(self, file: IO[bytes], *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._file = file
        self._file.truncate(SETS * SET * ROW.size)
        self._map = mmap.mmap(self._file.fileno(), 0)
        self._clock = clock
        self._lock = threading.Lock()  # the kernel's is for other processes

    def wait(self, who: bytes, rate: Rate) -> float:
        """Count one that comes, and answer 0; or, if they come too often, in how many seconds they may."""
        if not rate.per_second:
            return 0.0
        digest = hashlib.blake2b(who, digest_size=16).digest()
        name, place = ROW.unpack(digest)
        start = place % SETS * SET * ROW.size
        pace = 1_000_000_000 // rate.per_second
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX, SET * ROW.size, start)
            try:
                now = self._clock()
                at, used = self._find(name, start, now)
                if (
                    used > now + rate.burst * pace
                ):  # nobody gets so far: the machine was started anew, or the rate raised
                    used = now
                used = max(used, now) + pace
                if (early := used - now - rate.burst * pace) > 0:
                    return early / 1e9
                ROW.pack_into(self._map, at, name, used)
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, SET * ROW.size, start)
        return 0.0

    def _find(self, name: int, start: int, now: int) -> tuple[int, int]:
        """Where the row is, and what it says; a new one takes the place of who has been away the longest."""
        rows = [(*ROW.unpack_from(self._map, at), at) for at in range(start, start + SET * ROW.size, ROW.size)]
        for known, used, at in rows:
            if known == name:
                return at, used
        return min((used, at) for _, used, at in rows)[1], now
