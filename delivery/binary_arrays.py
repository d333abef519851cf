"""Many strings of bytes as one parameter, in PostgreSQL's binary format: psycopg would spell out each byte as text."""

from collections.abc import Sequence
from struct import Struct

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_BYTEA = psycopg.adapters.types["bytea"]
_HEAD = Struct("!iiI")  # dimensions, whether there are nulls, type
_DIMENSION = Struct("!ii")  # length, the number of the first
_LENGTH = Struct("!i")


class ByteStrings(tuple[bytes, ...]):
    """An array of bytea."""


class _BinaryDumper(Dumper):
    format = Format.BINARY
    oid = _BYTEA.array_oid

    def dump(self, obj: Sequence[bytes]) -> bytes:
        if not obj:
            return _HEAD.pack(0, 0, _BYTEA.oid)
        parts = [_HEAD.pack(1, 0, _BYTEA.oid), _DIMENSION.pack(len(obj), 1)]
        for each in obj:
            parts += (_LENGTH.pack(len(each)), each)
        return b"".join(parts)


psycopg.adapters.register_dumper(ByteStrings, _BinaryDumper)
