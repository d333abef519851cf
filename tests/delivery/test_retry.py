"""The retry policy is a pure function: its tests are tables."""

import pytest

from delivery.outcome import E_HTTP, E_INVALID_TARGET, E_TIMEOUT, Outcome
from delivery.retry import DEFAULT, FIFO_DEFAULT, Decision, Policy, decide, policy_for

TIMED_OUT = Outcome(E_TIMEOUT)


def answered(status, retry_after=None):
    return Outcome(None if 200 <= status < 300 else E_HTTP, http_status=status, retry_after=retry_after)


def judge(outcome, *, tries=1, policy=DEFAULT, blocks=False, dice=0.0):
    return decide(policy=policy, tries=tries, outcome=outcome, blocks=blocks, dice=dice)


@pytest.mark.parametrize(
    ("retry", "seconds"),
    [(1, 5), (2, 10), (3, 20), (6, 160), (7, 300), (30, 300), (31, 3600), (60, 3600), (61, None)],
)
def test_the_default_is_30_fast_retries_from_5_seconds_to_5_minutes_then_30_hourly_ones(retry, seconds):
    assert DEFAULT.wait_ms(retry) == (None if seconds is None else seconds * 1000)


@pytest.mark.parametrize(("retry", "seconds"), [(1, 5), (5, 80), (6, 3600), (15, 3600), (16, None)])
def test_a_lane_gives_up_after_5_fast_and_10_slow_retries(retry, seconds):
    assert FIFO_DEFAULT.wait_ms(retry) == (None if seconds is None else seconds * 1000)


@pytest.mark.parametrize(
    ("fifo", "own", "event", "expected"),
    [
        (False, None, None, DEFAULT),
        (True, None, None, FIFO_DEFAULT),
        (False, {"max_fast_retries": 2}, None, Policy(max_fast_retries=2)),
        (True, {"slow_ms": 9}, None, Policy(max_fast_retries=5, max_slow_retries=10, slow_ms=9)),
        (True, {"schedule_ms": [1, 2]}, None, Policy(schedule_ms=(1, 2))),
        (True, {"schedule_ms": [1, 2]}, [7], Policy(schedule_ms=(7,))),
        (False, None, [], Policy(schedule_ms=())),
    ],
)
def test_the_events_schedule_goes_before_the_subscriptions_policy_and_that_before_the_default(
    fifo, own, event, expected
):
    assert policy_for(fifo=fifo, own=own, backoff_schedule=event) == expected


@pytest.mark.parametrize(
    ("schedule", "waits"),
    [((), [None]), ((1000, 5000, 30000), [1000, 5000, 30000, None])],
)
def test_a_schedule_is_followed_to_its_end(schedule, waits):
    policy = Policy(schedule_ms=schedule)
    assert [policy.wait_ms(retry) for retry in range(1, len(waits) + 1)] == waits
    assert policy.max_tries == len(waits)


@pytest.mark.parametrize(
    ("outcome", "decision"),
    [
        (answered(200), Decision("done")),
        (answered(204), Decision("done")),
        (answered(301), Decision("retry", 5.0)),
        (answered(400), Decision("retry", 5.0)),
        (answered(500), Decision("retry", 5.0)),
        (TIMED_OUT, Decision("retry", 5.0)),
        (answered(410), Decision("dead", reason="gone")),
        (Outcome(E_INVALID_TARGET), Decision("dead", reason="forbidden")),
    ],
)
def test_what_follows_the_first_try(outcome, decision):
    assert judge(outcome) == decision


@pytest.mark.parametrize(("dice", "seconds"), [(0.0, 5.0), (0.5, 5.25), (0.999, 5.4995)])
def test_jitter_only_adds_up_to_a_tenth(dice, seconds):
    assert judge(TIMED_OUT, dice=dice).wait == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("status", "asked", "seconds"),
    [
        (429, 60, 60),
        (503, 60, 60),
        (429, 1, 5),  # the schedule waits longer
        (429, 999_999, 3600),  # nobody may put us off for days
        (500, 60, 5),  # it is not for this status
    ],
)
def test_retry_after_is_a_maximum_with_the_schedule_on_429_and_503(status, asked, seconds):
    assert judge(answered(status, retry_after=asked)).wait == seconds


@pytest.mark.parametrize(("blocks", "verdict"), [(False, "dead"), (True, "block")])
def test_what_has_used_up_its_retries_is_buried_or_blocks_its_lane(blocks, verdict):
    assert judge(TIMED_OUT, tries=61, blocks=blocks) == Decision(verdict, reason="exhausted")


def test_a_final_answer_does_not_block_a_lane():
    assert judge(answered(410), blocks=True).verdict == "dead"
