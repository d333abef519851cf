"""Rows in the form that PostgreSQL's binary COPY takes, put together by Arrow: ten times faster than row by row.

A row is the number of its fields, then for each field its length in bytes, or -1 for null, and the bytes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
TRAILER = b"\xff\xff"
BYTES = pa.large_binary()
NOTHING = pa.scalar(b"", BYTES)
EPOCH = 946_684_800_000_000  # microseconds from 1970 to 2000, where PostgreSQL's time begins


def rows(columns: Sequence[pa.Array]) -> memoryview:
    """All rows of some columns, each of which is of binary values."""
    fields: list[Any] = [pa.scalar(len(columns).to_bytes(2, "big"), BYTES)]
    for column in columns:
        lengths = pc.binary_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
        fields += [_fixed(lengths.astype(">i4")), column.fill_null(b"") if column.null_count else column]
    joined = pc.binary_join_element_wise(*fields, NOTHING)
    _, offsets, data = joined.buffers()
    first, last = np.frombuffer(offsets, dtype=np.int64)[[joined.offset, joined.offset + len(joined)]]
    return memoryview(data)[first:last]


def binary(values: Sequence[bytes | str | None], *, prefix: bytes = b"") -> pa.Array:
    column = pa.array(values, pa.large_string() if _holds_text(values) else BYTES).cast(BYTES)
    if prefix:
        column = pc.binary_join_element_wise(pa.scalar(prefix, BYTES), column, NOTHING)
    return column


def integers(values: Sequence[int] | np.ndarray[Any, Any]) -> pa.Array:
    """As `bigint` has them."""
    return _fixed(np.asarray(values, dtype=np.int64).astype(">i8"))


def times(values: Sequence[int | None]) -> pa.Array:
    """Microseconds since 1970, as `timestamptz` has them."""
    given = pa.array(values, pa.int64())
    column = _fixed((given.fill_null(EPOCH).to_numpy(zero_copy_only=False) - EPOCH).astype(">i8"))
    return pc.if_else(given.is_null(), pa.scalar(None, BYTES), column) if given.null_count else column


def _fixed(numbers: np.ndarray[Any, Any]) -> pa.Array:
    """Numbers as bytes, all of one width."""
    width = numbers.dtype.itemsize
    offsets = np.arange(len(numbers) + 1, dtype=np.int64) * width
    return pa.Array.from_buffers(BYTES, len(numbers), [None, pa.py_buffer(offsets), pa.py_buffer(numbers.tobytes())])


def _holds_text(values: Sequence[bytes | str | None]) -> bool:
    return isinstance(next((value for value in values if value is not None), None), str)
