import time
import uuid

from tenants.ids import new_id


def test_an_id_is_of_version_7_begins_with_its_time_and_is_drawn():
    before = time.time_ns() // 1_000_000
    made = [new_id() for _ in range(10_000)]
    after = time.time_ns() // 1_000_000
    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}
    assert all(before <= each.int >> 80 <= after for each in made)
    assert len({each.int & (1 << 62) - 1 for each in made}) == len(made)
