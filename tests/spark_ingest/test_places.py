import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_ingest.layout import Layout
from spark_ingest.places import BITS, Places
from spark_ingest.problems import LoadProblem


def batches(blocks, sizes):
    """The rows of blocks, one after the other, cut into batches."""
    rows = [block for block, count in blocks for _ in range(count)]
    while rows:
        size = next(sizes, len(rows))
        yield pa.RecordBatch.from_pydict({"block": pa.array(rows[:size], pa.int64())})
        rows = rows[size:]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.lists(st.integers(1, 7), max_size=20))
def test_rows_are_numbered_within_their_block_however_they_are_cut_into_batches(counts, sizes):
    blocks = [(1000 * number, count) for number, count in enumerate(counts)]
    places = Places(Layout({}, {}, block="block"), 0)
    found = [int(place) for batch in batches(blocks, iter(sizes)) for place in places.of(batch)]
    assert found == [block + row for block, count in blocks for row in range(count)]


def test_in_other_input_the_partition_sorts_and_then_the_row():
    places = Places(Layout({}, {}), 3)
    batch = pa.RecordBatch.from_pydict({"x": [1, 2]})
    assert [*places.of(batch), *places.of(batch)] == [(3 << BITS) + row for row in range(4)]


def test_a_row_without_a_place_is_refused():
    batch = pa.RecordBatch.from_pydict({"line": pa.array([1, None], pa.int64())})
    with pytest.raises(LoadProblem, match="The column line"):
        Places(Layout({}, {}, place="line"), 0).of(batch)
