"""Many strings of bytes, or ids, as one parameter in PostgreSQL's binary format: psycopg would spell them out."""

import uuid
from collections.abc import Sequence
from struct import Struct

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

_HEAD = Struct("!iiI")  # dimensions, whether there are nulls, type
_DIMENSION = Struct("!ii")  # length, the number of the first
_LENGTH = Struct("!i")


class ByteStrings(tuple[bytes, ...]):
    """An array of bytea."""


class Ids(tuple[uuid.UUID, ...]):
    """An array of uuid."""


def _array(of: TypeInfo, elements: Sequence[bytes]) -> bytes:
    if not elements:
        return _HEAD.pack(0, 0, of.oid)
    parts = [_HEAD.pack(1, 0, of.oid), _DIMENSION.pack(len(elements), 1)]
    for each in elements:
        parts += (_LENGTH.pack(len(each)), each)
    return b"".join(parts)


class _ByteStringsDumper(Dumper):
    format = Format.BINARY
    of = psycopg.adapters.types["bytea"]
    oid = of.array_oid

    def dump(self, obj: ByteStrings) -> bytes:
        return _array(self.of, obj)


class _IdsDumper(Dumper):
    format = Format.BINARY
    of = psycopg.adapters.types["uuid"]
    oid = of.array_oid

    def dump(self, obj: Ids) -> bytes:
        return _array(self.of, [each.bytes for each in obj])


psycopg.adapters.register_dumper(ByteStrings, _ByteStringsDumper)
psycopg.adapters.register_dumper(Ids, _IdsDumper)
