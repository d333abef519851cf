"""A circuit per subscription, and rate limits: who may not be sent to costs nobody anything, and no retries."""

from datetime import UTC, datetime, timedelta

import pytest

from delivery import circuits
from delivery.models import AttemptLog, Lane
from delivery.outcome import E_CONNECTION, E_HTTP, E_TIMEOUT, Outcome
from delivery.pump import Pump
from delivery.queue import Ended
from delivery.retry import Decision
from hook0.receiver import Behaviour
from subscriptions.models import SubscriptionState
from tests.factories import make_fifo, make_subscription, publish

DOWN = Outcome(E_TIMEOUT)
OK = Outcome(None, http_status=200)
REFUSED = Outcome(E_HTTP, http_status=400)
RETRY = Decision("retry", wait=0.0)
DONE = Decision("done")


@pytest.fixture
def the_circuit(application, queue):
    """A subscription with 50 events; `fail(n)` makes the next n requests time out."""
    subscription = make_subscription(application, max_in_flight=20)
    publish(application, 50)

    class Circuit:
        def state(self):
            return SubscriptionState.objects.get(subscription=subscription)

        def end(self, outcome, count=1):
            claimed = [each for each in queue.claim(count) if not each.wait]
            queue.record([Ended(each, DONE if outcome is OK else RETRY, outcome) for each in claimed])
            return claimed

        def pass_the_pause(self):
            now = datetime.now(UTC)
            SubscriptionState.objects.update(circuit_until=now - timedelta(seconds=1), ready_at=now)

    return Circuit()


@pytest.mark.parametrize(
    ("outcome", "outage"),
    [
        (DOWN, True), (Outcome(E_CONNECTION), True), (Outcome(E_HTTP, http_status=500), True),
        (Outcome(E_HTTP, http_status=503), True), (Outcome(E_HTTP, http_status=429), True),
        (REFUSED, False), (Outcome(E_HTTP, http_status=404), False), (Outcome(E_HTTP, http_status=301), False),
        (OK, False),
    ],
)  # fmt: skip
def test_an_outage_is_the_endpoint_in_trouble_and_not_one_event(outcome, outage):
    assert outcome.is_outage is outage


def test_it_opens_after_so_many_outages_in_a_row(the_circuit):
    the_circuit.end(DOWN, circuits.OPENS_AFTER - 1)
    assert the_circuit.state().circuit_until is None
    the_circuit.end(DOWN)
    state = the_circuit.state()
    assert timedelta(seconds=4) < state.circuit_until - datetime.now(UTC) <= timedelta(seconds=5)
    assert (state.trips, state.allowance) == (1, 1)
    assert the_circuit.end(OK, 20) == []


@pytest.mark.parametrize("sign_of_life", [OK, REFUSED])
def test_any_sign_of_life_begins_the_count_anew(the_circuit, sign_of_life):
    the_circuit.end(DOWN, circuits.OPENS_AFTER - 1)
    the_circuit.end(sign_of_life)
    assert (the_circuit.state().failures, the_circuit.state().failing_since) == (0, None)
    the_circuit.end(DOWN)
    assert the_circuit.state().circuit_until is None


def test_one_probe_goes_when_the_pause_is_over_and_closes_it_with_an_answer(the_circuit, queue):
    the_circuit.end(DOWN, circuits.OPENS_AFTER)
    the_circuit.pass_the_pause()
    (probe,) = queue.claim(20)
    assert (probe.is_probe, probe.wait) == (True, 0.0)
    assert queue.claim(20) == []
    queue.record([Ended(probe, DONE, OK)])
    state = the_circuit.state()
    assert (state.failures, state.trips, state.allowance, state.circuit_until) == (0, 0, None, None)
    assert len(queue.claim(20)) == 20


def test_the_pause_doubles_with_every_probe_that_fails_up_to_the_longest(the_circuit, queue):
    the_circuit.end(DOWN, circuits.OPENS_AFTER)
    pauses = []
    for _ in range(8):
        the_circuit.pass_the_pause()
        (probe,) = queue.claim(20)
        queue.record([Ended(probe, RETRY, DOWN)])
        pauses.append(round((the_circuit.state().circuit_until - datetime.now(UTC)).total_seconds()))
    assert pauses == [10, 20, 40, 80, 160, 300, 300, 300]


def test_requests_that_were_in_flight_when_it_opened_do_not_double_the_pause(the_circuit, queue):
    claimed = queue.claim(20)
    for start in (0, 10):
        queue.record([Ended(each, RETRY, DOWN) for each in claimed[start : start + 10]])
    assert the_circuit.state().trips == 1


def test_a_probe_whose_pump_died_is_followed_by_another(the_circuit, queue):
    the_circuit.end(DOWN, circuits.OPENS_AFTER)
    the_circuit.pass_the_pause()
    (probe,) = queue.claim(20)
    SubscriptionState.objects.update(
        probe_until=datetime.now(UTC) - timedelta(seconds=1), in_flight=0, ready_at=datetime.now(UTC)
    )
    (another,) = queue.claim(20)
    assert another.is_probe
    assert another.delivery_id != probe.delivery_id


def test_while_it_is_open_lanes_are_put_off_without_a_retry_and_one_head_probes(application, queue):
    make_fifo(application, fifo_key="ordering_key")
    for key in range(circuits.OPENS_AFTER + 5):
        publish(application, ordering_key=str(key))
    failing = queue.claim(circuits.OPENS_AFTER)
    queue.record([Ended(each, Decision("retry", wait=600.0), DOWN) for each in failing])
    waiting = queue.claim(50)
    assert len(waiting) == 5
    assert all(each.wait > 3 for each in waiting)
    queue.record([Ended(each, Decision("defer", each.wait)) for each in waiting])
    assert set(Lane.objects.filter(key__in=["10", "11", "12", "13", "14"]).values_list("tries", flat=True)) == {0}
    SubscriptionState.objects.update(circuit_until=datetime.now(UTC) - timedelta(seconds=1))
    Lane.objects.filter(tries=0).update(ready_at=datetime.now(UTC))
    later = queue.claim(50)
    assert sorted(each.is_probe for each in later) == [False] * 4 + [True]
    assert sorted(each.wait for each in later) == [0.0, 1.0, 1.0, 1.0, 1.0]


def test_a_dead_endpoint_is_left_alone_and_comes_back_whole(application, queue, sender, receiver, monkeypatch):
    monkeypatch.setattr(circuits, "PAUSE_SECONDS", (0.3, 0.3))
    receiver.behaviours["/hook"] = Behaviour(status=503, times=circuits.OPENS_AFTER + 2)
    make_subscription(
        application,
        url=f"http://127.0.0.1:{receiver.port}/hook",
        max_in_flight=5,
        retry_policy={"schedule_ms": [10] * 30},
    )
    publish(application, 30)
    Pump(queue, sender, window=50, linger=2.0).run()
    assert sum(each.answered == 200 for each in receiver.received) == 30
    assert SubscriptionState.objects.get().failures == 0
    assert AttemptLog.objects.filter(succeeded=False).count() == sum(each.answered == 503 for each in receiver.received)


@pytest.mark.parametrize("fifo_key", [None, "ordering_key", "unordered"])
def test_a_rate_limit_is_kept_and_costs_no_retries(application, queue, sender, receiver, fifo_key):
    make_subscription(
        application,
        url=f"http://127.0.0.1:{receiver.port}/hook",
        rate_limit={"requests": 5, "per_seconds": 1},
        fifo_mode=fifo_key != "unordered",
        fifo_key=None if fifo_key == "unordered" else fifo_key,
    )
    for number in range(12):
        publish(application, ordering_key=str(number))
    Pump(queue, sender, window=50, linger=1.5).run()
    arrivals = sorted(each.at for each in receiver.received)
    assert len(arrivals) == 12
    # Five at once, then one every fifth of a second: the twelfth not before 7/5 s.
    assert arrivals[11] - arrivals[0] > 1.3
    for first, sixth in zip(arrivals, arrivals[5:], strict=False):
        assert sixth - first > 0.1
    assert {each.headers["x-hook0-attempt"] for each in receiver.received} == {"1"}
