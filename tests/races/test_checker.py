"""The checker itself: each promise, kept and broken, by hand."""

import pytest

from tests.races.history import Arrival, Ending, History, Published, check, repeats


def published(*calls):
    return [Published(1, number, invoked, answered) for number, invoked, answered in calls]


def arrival(number, begin, end=None, attempt=1, *, ok=True):
    return Arrival(1, number, attempt, begin, begin + 0.1 if end is None else end, ok)


def good(number, attempt=1):
    return Ending(1, number, attempt, accepted=True, succeeded=True, lost=False)


def failed(number, attempt, *, accepted=True, lost=False):
    return Ending(1, number, attempt, accepted=accepted, succeeded=False, lost=lost)


TWO = published((1, 0.0, 0.1), (2, 0.2, 0.3))


@pytest.mark.parametrize(
    ("history", "broken"),
    [
        (History(TWO, [arrival(1, 1.0), arrival(2, 2.0)], [good(1), good(2)]), None),
        (
            History(
                TWO, [arrival(1, 1.0), arrival(1, 2.0, attempt=2), arrival(2, 3.0)], [failed(1, 1), good(1, 2), good(2)]
            ),
            None,
        ),
        (History(TWO, [arrival(1, 1.0), arrival(2, 2.0)], [good(1), good(2)], pending=1), "nothing is lost"),
        (History(TWO, [arrival(1, 1.0)], [good(1)]), "nothing is lost"),
        (History(TWO, [arrival(1, 1.0), arrival(2, 2.0)], [good(1), good(1), good(2)]), "nothing is lost"),
        (History(TWO, [arrival(1, 2.0), arrival(2, 1.0)], [good(1), good(2)]), "n+1 goes after n was acknowledged"),
        (
            History(
                TWO, [arrival(1, 1.0), arrival(2, 2.0), arrival(1, 3.0, attempt=2)], [failed(1, 1), good(1, 2), good(2)]
            ),
            "n+1 goes after n was acknowledged",
        ),
        (History(TWO, [arrival(1, 1.0, 2.0), arrival(2, 1.5)], [good(1), good(2)]), "one in flight"),
        (
            History(
                TWO,
                [arrival(1, 1.0, 3.0), arrival(1, 2.0, attempt=2), arrival(2, 4.0)],
                [failed(1, 1, lost=True), good(1, 2), good(2)],
            ),
            None,
        ),
        (
            History(published((1, 5.0, 5.1), (2, 0.0, 0.1)), [arrival(1, 6.0), arrival(2, 7.0)], [good(1), good(2)]),
            "lane order is publish order",
        ),
        (
            History(published((1, 0.0, 1.0), (3, 0.5, 1.1)), [arrival(1, 2.0), arrival(3, 3.0)], [good(1), good(3)]),
            "numbers are consecutive",
        ),
    ],
)
def test_each_promise(history, broken):
    found = {violation.promise for violation in check(history)}
    assert broken in found if broken else not found


def test_a_lane_that_may_go_on_must_not_wait():
    """From its publication, or from the last good answer to the number before: not from a failed one."""
    failed_first = [arrival(1, 1.0), arrival(1, 5.0, attempt=2), arrival(2, 6.0)]
    assert check(History(TWO, failed_first, [good(1, 2), good(2)]), patience=1.0) == []
    late = History(TWO, [arrival(1, 1.0), arrival(2, 4.0)], [good(1), good(2)])
    assert {each.promise for each in check(late, patience=1.0)} == {"a lane that may go on does"}
    assert check(late, patience=5.0) == []


def test_where_records_were_lost_the_receivers_answer_counts():
    """Number 1 was answered, its record was lost, and it was sent again after number 2."""
    arrivals = [arrival(1, 1.0), arrival(2, 2.0), arrival(1, 3.0), arrival(2, 4.0)]
    answered = History(TWO, arrivals, [good(1), good(2)])
    assert check(answered, records_lost=True) == []
    refused = History(TWO, [arrival(1, 1.0, ok=False), *arrivals[1:]], [good(1), good(2)])
    assert {each.promise for each in check(refused, records_lost=True)} == {"n+1 goes after n was acknowledged"}


def test_repeats_are_counted():
    assert repeats(History(arrivals=[arrival(1, 1.0), arrival(1, 2.0, attempt=2), arrival(2, 3.0)])) == 1
