"""What happened in a run, as plain values, and what must be true of it.

The checker knows nothing of the queue: it compares what publishers were told, what receivers saw and what
the log says. `tests/races/mutants.py` breaks the queue on purpose, to show that it would notice.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf


@dataclass(frozen=True)
class Published:
    """A publish call that got this number in its lane: `answered` never, where the database was shot meanwhile."""

    lane: int
    number: int
    invoked: float
    answered: float


@dataclass(frozen=True)
class Arrival:
    """A request at the receiver, until it was answered or the sender gave up."""

    lane: int
    number: int
    attempt: int
    begin: float
    end: float
    ok: bool  # answered with 200, in time


@dataclass(frozen=True)
class Ending:
    """A row of the attempt log."""

    lane: int
    number: int
    attempt: int
    accepted: bool
    succeeded: bool
    lost: bool  # given back by the reaper


@dataclass
class History:
    published: list[Published] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    pending: int = 0  # left in the queue when all was quiet
    vanished: int = 0  # events that were answered 201 and have no delivery, pending or ended


@dataclass(frozen=True)
class Violation:
    """A broken promise."""

    promise: str
    lane: int
    what: str


def check(history: History, *, records_lost: bool = False, patience: float = inf) -> list[Violation]:
    """Every broken promise in a run, whose retries never end. `patience` is how long a lane that may go on may wait.

    A database that was shot has lost the last records, never an event: what they recorded is sent again. An
    acknowledgement is then what the receiver answered; otherwise, what was recorded.
    """
    return [
        *_nothing_is_lost(history),
        *_numbers_follow_the_publishers(history.published),
        *_the_receiver_sees_the_order(history, records_lost=records_lost),
        *_one_in_flight(history),
        *_a_lane_that_may_go_on_does(history, patience),
    ]


def repeats(history: History) -> int:
    """Requests beyond the first for a number: allowed, and to be counted."""
    return len(history.arrivals) - len({(each.lane, each.number) for each in history.arrivals})


def _nothing_is_lost(history: History) -> Iterator[Violation]:
    if history.pending:
        yield Violation("nothing is lost", 0, f"{history.pending} deliveries are still pending")
    if history.vanished:
        yield Violation("nothing is lost", 0, f"{history.vanished} events have no delivery")
    acknowledged: dict[tuple[int, int], int] = defaultdict(int)
    for ending in history.endings:
        acknowledged[ending.lane, ending.number] += ending.accepted and ending.succeeded
    for each in history.published:
        times = acknowledged[each.lane, each.number]
        if times != 1:
            yield Violation("nothing is lost", each.lane, f"number {each.number} was acknowledged {times} times")


def _numbers_follow_the_publishers(published: Sequence[Published]) -> Iterator[Violation]:
    for lane, calls in _by_lane(published).items():
        latest_invocation = 0.0
        for expected, call in enumerate(sorted(calls, key=lambda each: each.number), start=1):
            if call.number != expected:
                yield Violation("numbers are consecutive", lane, f"number {expected} is missing")
                break
            if call.answered < latest_invocation:
                yield Violation(
                    "lane order is publish order",
                    lane,
                    f"number {call.number} was answered before a smaller number was sent",
                )
            latest_invocation = max(latest_invocation, call.invoked)


def _the_receiver_sees_the_order(history: History, *, records_lost: bool) -> Iterator[Violation]:
    good = {(each.lane, each.number): each.attempt for each in history.endings if each.accepted and each.succeeded}
    for lane, arrivals in _by_lane(history.arrivals).items():
        first: dict[int, float] = {}
        acknowledged: dict[int, float] = {}
        for each in sorted(arrivals, key=lambda each: each.begin):
            first.setdefault(each.number, each.begin)
            if each.ok if records_lost else good.get((lane, each.number)) == each.attempt:
                acknowledged.setdefault(each.number, each.begin)
        for number in sorted(first):
            before = acknowledged.get(number - 1)
            if number > 1 and (before is None or first[number] < before):
                yield Violation(
                    "n+1 goes after n was acknowledged", lane, f"number {number} arrived before {number - 1} was"
                )


def _one_in_flight(history: History) -> Iterator[Violation]:
    """Two requests of a lane overlap only if the earlier one had been given up on the record."""
    given_up = {(each.lane, each.number, each.attempt) for each in history.endings if each.lost or not each.accepted}
    for lane, arrivals in _by_lane(history.arrivals).items():
        in_order = sorted(arrivals, key=lambda each: each.begin)
        for earlier, later in pairwise(in_order):
            if later.begin < earlier.end and (lane, earlier.number, earlier.attempt) not in given_up:
                yield Violation("one in flight", lane, f"{later.number} began while {earlier.number} was in flight")


def _a_lane_that_may_go_on_does(history: History, patience: float) -> Iterator[Violation]:
    """A number is tried within a while of being published and of the good answer to the one before it."""
    arrivals = _by_lane(history.arrivals)
    for lane, calls in _by_lane(history.published).items():
        first: dict[int, float] = {}
        answered: dict[int, float] = {}
        for each in sorted(arrivals[lane], key=lambda each: each.begin):
            first.setdefault(each.number, each.begin)
            if each.ok and each.number + 1 not in first:
                answered[each.number] = each.end
        for call in calls:
            if call.answered == inf:
                continue
            may_go_on = max(call.answered, answered.get(call.number - 1, 0.0))
            waited = first.get(call.number, may_go_on) - may_go_on
            if waited > patience:
                yield Violation("a lane that may go on does", lane, f"number {call.number} waited for {waited:.1f} s")


def _by_lane(records: Sequence) -> dict[int, list]:
    found: dict[int, list] = defaultdict(list)
    for each in records:
        found[each.lane].append(each)
    return found
