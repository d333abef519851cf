"""Calls that come together are done together; what goes wrong with one is no concern of the others."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError

from events import ingest as ingesting
from events.models import Event
from events.together import Together, _Call
from tests.factories import make_application, new_event


class Work:
    """Doubles numbers, slowly enough that others come meanwhile."""

    def __init__(self) -> None:
        self.rounds: list[list[int]] = []
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, key: str, numbers: list[int]) -> list[int]:
        self.rounds.append(numbers)
        self.begun.set()
        assert self.go_on.wait(10)
        if 13 in numbers:
            raise ValueError("13 is not doubled")
        if -2 in numbers:
            raise OSError("who knows whether it was doubled")
        if -1 in numbers:
            raise SystemExit
        return [number * 2 for number in numbers]


@pytest.fixture
def work():
    return Work()


@pytest.fixture
def together(work):
    return Together(work, final=(OSError,))


@pytest.fixture
def pool():
    with ThreadPoolExecutor(8) as threads:
        yield threads


def begin(pool, together, work, numbers, *, key="a"):
    """One call under way, and the others in line behind it."""
    first = pool.submit(together, key, numbers[0])
    assert work.begun.wait(10)
    others = [pool.submit(together, key, number) for number in numbers[1:]]
    while len(together._waiting[key]) < len(others):
        pass
    return [first, *others]


def test_who_comes_alone_is_served_at_once(together, work):
    work.go_on.set()
    assert together("a", 4) == 8
    assert work.rounds == [[4]]


def test_who_comes_meanwhile_is_served_in_one_round(pool, together, work):
    calls = begin(pool, together, work, [1, 2, 3, 4])
    work.go_on.set()
    assert [call.result(10) for call in calls] == [2, 4, 6, 8]
    assert [len(numbers) for numbers in work.rounds] == [1, 3]


def test_a_bad_one_is_told_so_and_the_others_are_served(pool, together, work):
    calls = begin(pool, together, work, [1, 2, 13, 4])
    work.go_on.set()
    assert [call.result(10) for call in calls if call is not calls[2]] == [2, 4, 8]
    with pytest.raises(ValueError, match="13"):
        calls[2].result(10)
    assert sorted(map(len, work.rounds)) == [1, 1, 1, 1, 3]


def test_what_was_perhaps_done_is_not_done_again(pool, together, work):
    calls = begin(pool, together, work, [1, 2, -2, 4])
    work.go_on.set()
    assert calls[0].result(10) == 2
    assert [type(call.exception(10)) for call in calls[1:]] == [OSError] * 3
    assert [len(numbers) for numbers in work.rounds] == [1, 3]


@pytest.mark.django_db(transaction=True)
def test_events_are_not_stored_again_when_the_answer_to_their_commit_was_lost(monkeypatch):
    store = ingesting.store

    def store_and_lose(*args):
        store(*args)
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(ingesting, "store", store_and_lose)
    calls = [_Call(new_event(event_id=None)) for _ in range(3)]
    ingesting.ingest_one._do(make_application().id, calls)
    assert [type(call.problem) for call in calls] == [OperationalError] * 3
    assert Event.objects.count() == 3


def test_who_was_taken_along_by_one_that_was_stopped_is_served_all_the_same(pool, together, work):
    first, leader, stopper, other = begin(pool, together, work, [1, 2, -1, 4])
    work.go_on.set()
    assert isinstance(leader.exception(10), SystemExit)
    assert isinstance(stopper.exception(10), SystemExit)
    assert (first.result(10), other.result(10), together("a", 5)) == (2, 8, 10)


def test_different_keys_do_not_wait_for_each_other(pool, together, work):
    (slow,) = begin(pool, together, work, [1])
    work.begun.clear()
    other = pool.submit(together, "b", 5)
    assert work.begun.wait(10)
    work.go_on.set()
    assert (slow.result(10), other.result(10)) == (2, 10)
    assert work.rounds == [[1], [5]]


def test_nothing_is_kept_of_keys_that_nobody_waits_for(pool, together, work):
    calls = begin(pool, together, work, [1, 2])
    work.go_on.set()
    assert [call.result(10) for call in calls] == [2, 4]
    assert not together._waiting


def test_many_at_once_each_get_their_own(together, work):
    work.go_on.set()
    with ThreadPoolExecutor(16) as threads:
        numbers = [number for number in range(2000) if number != 13]
        assert list(threads.map(lambda number: together(number % 3, number), numbers)) == [n * 2 for n in numbers]
    assert sum(map(len, work.rounds)) == len(numbers)
