"""How fast bulk loads are released, as a table of what was seen."""

import random
from dataclasses import replace
from typing import Any

import pytest

from events.pace import (
    CALM_EVERY_SECONDS,
    CALM_SECONDS,
    ENOUGH,
    FASTER,
    FIRST,
    LEAST,
    SAMPLES,
    SLOWER,
    STEP_SECONDS,
    Allowance,
    Pace,
    Sight,
    begin,
    decide,
)

NOW = 1_000_000.0
CALM = tuple(n / 1000 for n in range(1, 101))  # the p99 is 100 ms, so that 110 ms are the limit
GOOD, SLOW = (0.109,), (0.111,)
RELEASING = Pace(since=NOW - STEP_SECONDS, is_calm=False, calm=CALM, calm_until=NOW - STEP_SECONDS)
IN_USE: dict[str, Any] = {"released": int(FIRST * STEP_SECONDS), "deliveries": int(FIRST * STEP_SECONDS), "wait": 0.1}


@pytest.mark.parametrize(
    ("what", "seen", "factor"),
    [
        ("nobody is there to be disturbed", {}, FASTER),
        ("live deliveries are as they were", {"live": GOOD * ENOUGH}, FASTER),
        ("one in two hundred is slower", {"live": GOOD * 199 + SLOW}, FASTER**0.5),
        ("as many are slower as may be", {"live": GOOD * 99 + SLOW}, 1.0),
        ("two in a hundred are", {"live": GOOD * 98 + SLOW * 2}, 1 / FASTER),
        ("many are", {"live": GOOD * 50 + SLOW * 50}, SLOWER),
        ("too few to know", {"live": GOOD * (ENOUGH - 2) + SLOW}, None),
        ("few, but most of them slower", {"live": SLOW * 5}, SLOWER),
        ("what is released waits", {"wait": 1.1}, SLOWER),
        ("it makes no deliveries", {"wait": None, "deliveries": 0}, FASTER),
        ("the rate is not used", {"released": 10}, None),
        ("the rate is not used, and yet too high", {"released": 10, "live": SLOW * 5}, SLOWER),
        ("nobody delivers", {"wait": None, "is_served": False}, SLOWER),
        ("what is released is delivered by nobody, though they are awake", {"wait": None}, None),
    ],
)
def test_it_follows_what_is_seen(what, seen, factor):
    after = decide(RELEASING, Sight(NOW, **{**IN_USE, **seen}))
    assert after.per_second == pytest.approx(FIRST * (factor or 1.0)), what
    assert (after.since == NOW) == (factor is not None), "what was seen counts until something is decided"


def test_it_counts_up_to_the_next_change_and_then_anew():
    once = decide(RELEASING, Sight(NOW, **IN_USE, live=GOOD * 48 + SLOW * 2))
    assert (once.per_second, once.live, once.slow) == (FIRST, 50, 2)
    twice = decide(once, Sight(NOW + 1, **IN_USE, live=SLOW * 3))
    assert (twice.per_second, twice.live, twice.slow) == (FIRST * SLOWER, 0, 0)


def test_a_change_has_time_to_show():
    before = replace(RELEASING, since=NOW - STEP_SECONDS / 2)
    assert decide(before, Sight(NOW, **IN_USE, live=SLOW * 50)).per_second == FIRST


def test_a_rate_that_was_not_used_is_looked_at_anew_after_a_while():
    """So that the time between two loads does not count."""
    after = decide(replace(RELEASING, since=NOW - 10), Sight(NOW, released=10))
    assert (after.per_second, after.since) == (FIRST, NOW)


def test_it_never_stops_for_good():
    slowest = replace(RELEASING, per_second=LEAST)
    assert decide(slowest, Sight(NOW, wait=5.0)).per_second == LEAST


def test_few_live_deliveries_are_enough_after_a_while():
    long_ago = replace(RELEASING, since=NOW - 10)
    seen = {**IN_USE, "released": int(FIRST * 10)}
    assert decide(long_ago, Sight(NOW, **seen, live=GOOD)).per_second == FIRST * FASTER


def test_it_holds_still_now_and_then_to_see_how_live_deliveries_do_by_themselves():
    due = replace(RELEASING, calm_until=NOW - CALM_EVERY_SECONDS)
    assert not decide(due, Sight(NOW, **IN_USE)).is_calm, "there is nothing live to see"
    still = decide(due, Sight(NOW, **IN_USE, live=GOOD))
    assert still.is_calm
    assert decide(still, Sight(NOW + CALM_SECONDS / 2, live=(0.5,))).is_calm
    after = decide(still, Sight(NOW + CALM_SECONDS, live=(0.5,) * 3))
    assert (after.is_calm, after.calm[-3:], after.per_second) == (False, (0.5,) * 3, FIRST)
    assert after.limit == pytest.approx(0.55)


def test_without_anything_to_compare_with_it_holds_still_at_the_first_live_delivery():
    unknown = replace(RELEASING, calm=())
    assert unknown.limit is None
    assert not decide(unknown, Sight(NOW, **IN_USE)).is_calm
    assert decide(unknown, Sight(NOW, **IN_USE, live=GOOD)).is_calm


def test_after_a_pause_it_begins_with_what_was_there_before_and_remembers_the_latest():
    began = decide(begin(NOW), Sight(NOW, live=(1.0,) * 10 + (0.1,) * SAMPLES))
    assert (began.is_calm, began.per_second, len(began.calm)) == (False, FIRST, SAMPLES)
    assert began.limit == pytest.approx(0.11)


def test_where_more_than_so_much_does_harm_it_stays_near_to_that():
    """A world in which live deliveries take longer in proportion to what is released above 1,000 events per second."""
    dice = random.Random(1)
    pace, rates, now = replace(RELEASING, since=NOW, calm=()), [], NOW
    while now < NOW + 3600:
        now += 1
        rate = 0.0 if pace.is_calm else pace.per_second
        live = tuple(dice.lognormvariate(-3, 0.5) * max(1.0, rate / 1000) for _ in range(50))
        wait = None if pace.is_calm else 0.05
        pace = decide(pace, Sight(now, int(rate * (now - pace.since)), int(rate), live, wait))
        rates.append(rate)
    settled = sorted(rate for rate in rates[300:] if rate)
    assert 500 < settled[len(settled) // 2] < 1200
    assert settled[len(settled) * 95 // 100] < 1600


@pytest.mark.parametrize(
    ("used_until", "room"),
    [(NOW, 0), (NOW + 5, 0), (NOW - 0.5, 50), (NOW - 1, 100), (NOW - 100, 200)],
)
def test_what_a_rate_allows_is_what_has_not_been_used_of_the_last_moments(used_until, room):
    allowance = Allowance(100, used_until, burst=2)
    assert allowance.room(NOW) == room


def test_the_fewer_calm_ones_are_known_the_less_is_made_of_slow_ones():
    hardly = replace(RELEASING, calm=CALM[-4:])
    assert (hardly.share, RELEASING.share) == (0.2, 0.01)
    assert decide(hardly, Sight(NOW, **IN_USE, live=GOOD * 90 + SLOW * 10)).per_second == FIRST * FASTER**0.5


def test_what_is_used_is_taken_off():
    allowance = Allowance(100, NOW - 100, burst=2)
    left = Allowance(100, allowance.use(150, NOW), burst=2)
    assert left.room(NOW) == 50
