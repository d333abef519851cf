"""Workers that are killed and frozen, a moody receiver, a database that is shot: order, and nothing lost."""

import json
import random
import signal
import time
from collections import Counter

import pytest

from tests.races.conftest import DEAD, HANGING
from tests.races.history import check, repeats

WORKERS = 3
PUBLISHERS = 2
SECONDS = 12.0
# A lane may have to wait for a lease to end (2 s), for frozen workers (3 s), and for this machine.
PATIENCE = 12.0


def torment(arena, workers, until, *, stop_for=3.0, mutant="none"):
    """Kill and freeze workers at random; a frozen one comes back after its leases have ended."""
    dice, frozen = random.Random(11), []
    while time.monotonic() < until:
        time.sleep(dice.uniform(0.2, 0.6))
        index = dice.randrange(len(workers))
        if dice.random() < 0.6:
            workers[index].send_signal(signal.SIGCONT)
            workers[index].kill()
            workers[index].wait()
            workers[index] = arena.work(mutant)
        elif workers[index] not in [worker for worker, _ in frozen]:
            workers[index].send_signal(signal.SIGSTOP)
            frozen.append((workers[index], time.monotonic() + stop_for))
        for worker, wake_at in list(frozen):
            if time.monotonic() >= wake_at:
                frozen.remove((worker, wake_at))
                worker.send_signal(signal.SIGCONT)
    for worker, _ in frozen:
        worker.send_signal(signal.SIGCONT)


def wait_for(publishers):
    for publisher in publishers:
        publisher.process.wait(60)


def test_order_is_kept_and_nothing_is_lost_whoever_dies(arena):
    application = arena.subscribe()
    workers = [arena.work() for _ in range(WORKERS)]
    publishers = [arena.publish(application, seed=seed, seconds=SECONDS) for seed in range(PUBLISHERS)]
    torment(arena, workers, time.monotonic() + SECONDS)
    wait_for(publishers)
    arena.receiver.calm = True
    history = arena.history(publishers, pending=arena.wait_until_quiet())
    assert len(history.published) > 200
    assert any(ending.lost for ending in history.endings)
    assert repeats(history) > 0
    assert check(history, patience=PATIENCE) == []


def test_healthy_lanes_wait_for_none_that_is_blocked_and_for_no_endpoint_that_hangs(arena):
    application = arena.subscribe()
    once_more = json.dumps({"schedule_ms": [50]})
    arena.add_subscription(application, path=DEAD, fifo_on_exhausted="block", retry_policy=once_more)
    arena.add_subscription(application, path=HANGING)
    arena.add_subscription(application, path=HANGING, fifo_mode=False, fifo_key=None)
    workers = [arena.work() for _ in range(WORKERS)]
    publishers = [arena.publish(application, seed=seed, seconds=SECONDS) for seed in range(PUBLISHERS)]
    torment(arena, workers, time.monotonic() + SECONDS)
    wait_for(publishers)
    ends = time.monotonic() + 60
    while not arena.query("SELECT 1 FROM fifo_subscription_state WHERE phase = 3 OFFSET 1"):
        assert time.monotonic() < ends
        time.sleep(0.1)  # the circuit leaves the dead alone for a while
    arena.forget_the_dead()
    arena.receiver.calm = True
    history = arena.history(publishers, pending=arena.wait_until_quiet())
    assert len(history.published) > 200
    assert check(history, patience=PATIENCE) == []


def test_a_database_that_is_shot_loses_nothing_that_was_answered(arena):
    application = arena.subscribe()
    for _ in range(2):
        arena.work()
    arena.wait_for_pumps(2)
    publishers = [arena.publish(application, seed=seed, seconds=8.0) for seed in range(PUBLISHERS)]
    for _ in range(2):
        time.sleep(2.5)
        arena.restart_immediately()
    wait_for(publishers)
    arena.receiver.calm = True
    history = arena.history(publishers, pending=arena.wait_until_quiet())
    assert len(history.published) > 50
    assert check(history, records_lost=True) == []


def test_the_same_holds_of_celery_whoever_dies_and_whatever_the_broker_forgets(arena):
    """Its worker, the worker's children and beat are killed, and the broker is flushed: messages carry no state."""
    application = arena.subscribe()
    with arena.celery() as celery:
        celery.wait_for_a_pump()
        publishers = [arena.publish(application, seed=seed, seconds=SECONDS) for seed in range(PUBLISHERS)]
        for number in range(20):
            time.sleep(SECONDS / 20)
            celery.flush()
            if number in {3, 7, 12}:
                celery.kill("delivery" if number == 7 else "beat")
            else:
                celery.kill_a_pump()
        wait_for(publishers)
        arena.receiver.calm = True
        history = arena.history(publishers, pending=arena.wait_until_quiet())
    assert len(history.published) > 200
    assert any(ending.lost for ending in history.endings)
    assert check(history) == []


def test_a_worker_that_is_told_to_stop_leaves_nothing_to_be_sent_twice(arena):
    application = arena.subscribe()
    arena.receiver.calm = True
    with arena.celery() as celery:
        celery.wait_for_a_pump()
        publishers = [arena.publish(application, seed=seed, seconds=6.0) for seed in range(PUBLISHERS)]
        for _ in range(2):
            time.sleep(2.0)
            celery.stop("delivery")
        wait_for(publishers)
        history = arena.history(publishers, pending=arena.wait_until_quiet())
    assert len(history.published) > 100
    assert (repeats(history), [ending for ending in history.endings if ending.lost]) == (0, [])
    assert check(history) == []


@pytest.mark.parametrize(
    ("mutant", "broken"),
    [
        ("none", set()),
        ("no_fence", {"nothing is lost", "n+1 goes after n was acknowledged"}),
        ("no_lane_lock", {"one in flight"}),
        ("created_at_order", {"n+1 goes after n was acknowledged"}),
        ("sleepy", {"a lane that may go on does"}),
    ],
)
def test_the_checker_notices_a_queue_that_is_broken_and_no_other(arena, mutant, broken):
    arena.receiver.pace_ms = 150
    application = arena.subscribe()
    workers = [arena.work(mutant) for _ in range(WORKERS)]
    publishers = [arena.publish(application, seed=seed, seconds=8.0) for seed in range(PUBLISHERS)]
    torment(arena, workers, time.monotonic() + 8.0, mutant=mutant)
    wait_for(publishers)
    arena.receiver.calm = True
    history = arena.history(
        publishers, pending=arena.wait_until_quiet(seconds={"none": 60, "sleepy": 16}.get(mutant, 8))
    )
    found = Counter(violation.promise for violation in check(history, patience=PATIENCE))
    assert len(history.arrivals) > 100
    assert set(found) >= broken if broken else not found, found
