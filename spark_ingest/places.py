"""Where a row stands in the input, as one number that sorts: what decides between events of the same moment.

In a file it is the file's number by name, then the row's place in the file. Spark reads files in blocks, and packs
blocks into partitions as it likes. A row is numbered within its block, from where the block begins: a row has at least
one byte, so that all numbers of a block are below the next. (Where it may have less, the column says so by larger
numbers.) In other input it is the partition, then the row.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from spark_ingest.layout import Layout
from spark_ingest.problems import LoadProblem

BITS = 43  # for what is within a file: 8 TiB; the rest is for a million files

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class Places:
    """Numbers the rows of one partition, batch after batch."""

    def __init__(self, layout: Layout, partition: int) -> None:
        self._layout, self._partition = layout, partition
        self._block = self._next = -1

    def of(self, batch: pa.RecordBatch) -> Numbers:
        if self._layout.place:
            return _numbers(batch, self._layout.place)
        if self._layout.block:
            blocks = _numbers(batch, self._layout.block)
        else:
            blocks = np.full(batch.num_rows, self._partition << BITS, dtype=np.int64)
        return self._within(blocks)

    def _within(self, blocks: Numbers) -> Numbers:
        """Count the rows of each block, which may have begun in the batch before."""
        if not len(blocks):
            return blocks
        if blocks[0] != self._block:
            self._next = 0
        rows = np.arange(len(blocks))
        begins = np.concatenate(([False], blocks[1:] != blocks[:-1]))
        first = np.maximum.accumulate(np.where(begins, rows, 0))
        numbers = rows - first + np.where(first == 0, self._next, 0)
        self._block, self._next = int(blocks[-1]), int(numbers[-1]) + 1
        return blocks + numbers


def _numbers(batch: pa.RecordBatch, name: str) -> Numbers:
    column = batch.column(name)
    if column.null_count:
        raise LoadProblem(f"The column {name} says where a row stands in the input; in some rows it is null.")
    return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False))
