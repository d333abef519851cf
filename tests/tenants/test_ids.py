import random
import time
import uuid

from tenants.ids import new_id, new_ids

RANDOM = (1 << 62) - 1


def test_an_id_is_of_version_7_begins_with_its_time_and_is_drawn():
    before = time.time_ns() // 1_000_000
    made = [new_id() for _ in range(10_000)]
    after = time.time_ns() // 1_000_000
    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}
    assert all(before <= each.int >> 80 <= after for each in made)
    assert len({each.int & RANDOM for each in made}) == len(made)


def test_ids_that_are_drawn_together_follow_each_other_and_no_others():
    some, others = new_ids(1000), new_ids(1000)
    assert [each.int - some[0].int for each in some] == list(range(1000))
    assert len({*some, *others}) == 2000
    assert new_ids(0) == []


def test_counting_on_leaves_the_version_and_the_time_as_they_are(monkeypatch):
    monkeypatch.setattr(random, "getrandbits", lambda bits: (1 << bits) - 1)
    made = new_ids(1000)
    assert {(each.version, each.variant, each.int >> 64) for each in made} == {(7, uuid.RFC_4122, made[0].int >> 64)}
