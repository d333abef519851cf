"""What an operator can do to a lane: a table of every verb in every phase, and what it leaves behind."""

from datetime import UTC, datetime, timedelta

import pytest

from delivery import lanes, maintenance, reconfigure
from delivery.attempt_ids import attempt_id
from delivery.audit import Operator
from delivery.models import AttemptLog, DeadLetter, Lane, OperatorAction, Phase, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.problems import LaneConflict
from delivery.queue import Ended
from delivery.retry import Decision
from tenants.problems import NotFound
from tests.factories import make_application, make_fifo, publish

ME = Operator("me@example.com", "because")
OK, FAILED = Outcome(None, http_status=200), Outcome(E_HTTP, http_status=500)
EVENTS = 4


@pytest.fixture
def lane_in(transactional_db, queue):
    """A lane of four events in the phase that is asked for, and the claim on its head if there was one."""

    def bring(phase):
        application = make_application()
        make_fifo(application, fifo_on_exhausted="block")
        publish(application, EVENTS)
        claimed = None
        if phase == "retrying":
            (claimed,) = queue.claim(1)
            queue.record([Ended(claimed, Decision("retry", wait=600.0), FAILED)])
        elif phase == "running":
            (claimed,) = queue.claim(1)
        elif phase == "blocked":
            (claimed,) = queue.claim(1)
            queue.record([Ended(claimed, Decision("block", reason="exhausted"), FAILED)])
        elif phase == "paused":
            lanes.pause(Lane.objects.get().id, by=ME)
        elif phase == "empty":
            for _ in range(EVENTS):
                (claimed,) = queue.claim(1)
                queue.record([Ended(claimed, Decision("done"), OK)])
        return Lane.objects.get(), claimed

    return bring


VERBS = {
    "retry": lambda lane: lanes.retry_head(lane.id, by=ME),
    "skip": lambda lane: lanes.skip_head(lane.id, by=ME),
    "skip_to": lambda lane: lanes.skip_to(lane.id, lane.head_seq + 2, by=ME),
    "pause": lambda lane: lanes.pause(lane.id, by=ME),
    "resume": lambda lane: lanes.resume(lane.id, by=ME),
    "reset": lambda lane: lanes.reset(lane.id, by=ME),
    "purge": lambda lane: lanes.purge(lane.id, by=ME),
}
REFUSED = None
W, R, B, P, E = Phase.WAITING, Phase.RUNNING, Phase.BLOCKED, Phase.PAUSED, Phase.EMPTY


@pytest.mark.parametrize(
    ("phase", "verb", "after", "head"),
    [
        ("waiting", "retry", W, 1), ("retrying", "retry", W, 1), ("running", "retry", REFUSED, 1),
        ("blocked", "retry", W, 1), ("paused", "retry", P, 1), ("empty", "retry", REFUSED, 5),
        ("waiting", "skip", W, 2), ("retrying", "skip", W, 2), ("running", "skip", W, 2),
        ("blocked", "skip", W, 2), ("paused", "skip", P, 2), ("empty", "skip", REFUSED, 5),
        ("waiting", "skip_to", W, 3), ("retrying", "skip_to", W, 3), ("running", "skip_to", W, 3),
        ("blocked", "skip_to", W, 3), ("paused", "skip_to", P, 3), ("empty", "skip_to", REFUSED, 5),
        ("waiting", "pause", P, 1), ("retrying", "pause", P, 1), ("running", "pause", R, 1),
        ("blocked", "pause", B, 1), ("paused", "pause", P, 1), ("empty", "pause", P, 5),
        ("waiting", "resume", W, 1), ("retrying", "resume", W, 1), ("running", "resume", R, 1),
        ("blocked", "resume", B, 1), ("paused", "resume", W, 1), ("empty", "resume", E, 5),
        ("waiting", "reset", W, 1), ("retrying", "reset", W, 1), ("running", "reset", W, 1),
        ("blocked", "reset", W, 1), ("paused", "reset", W, 1), ("empty", "reset", E, 5),
        ("waiting", "purge", E, 5), ("retrying", "purge", E, 5), ("running", "purge", E, 5),
        ("blocked", "purge", E, 5), ("paused", "purge", P, 5), ("empty", "purge", E, 5),
    ],
)  # fmt: skip
def test_every_verb_in_every_phase(lane_in, phase, verb, after, head):
    lane, _ = lane_in(phase)
    audited = OperatorAction.objects.count()
    if after is REFUSED:
        with pytest.raises(LaneConflict):
            VERBS[verb](lane)
        after = lane.phase
        assert OperatorAction.objects.count() == audited
    else:
        VERBS[verb](lane)
        action = OperatorAction.objects.latest("id")
        assert (action.actor, action.reason, action.action) == ("me@example.com", "because", verb)
        assert (action.lane_id, action.subscription_id) == (lane.id, lane.subscription_id)
        assert action.details["head_seq"] == lane.head_seq
    now = Lane.objects.get()
    assert (Phase(now.phase), now.head_seq, now.tail_seq) == (after, head, EVENTS)
    assert RequestAttempt.objects.count() == EVENTS + 1 - head


@pytest.mark.parametrize("verb", ["skip", "skip_to", "reset", "purge"])
def test_a_request_in_flight_changes_nothing_when_it_ends_after_the_verb(lane_in, queue, verb):
    lane, claimed = lane_in("running")
    VERBS[verb](lane)
    before = Lane.objects.values().get()
    assert queue.record([Ended(claimed, Decision("done"), OK, stay=True)]) == []
    assert Lane.objects.values().get() == before


def test_what_is_skipped_is_kept_and_what_is_purged_is_not(lane_in):
    lane, _ = lane_in("retrying")
    lanes.skip_to(lane.id, 3, by=ME)
    assert list(DeadLetter.objects.order_by("lane_seq").values_list("lane_seq", "reason", "tries")) == [
        (1, "skipped", 1),
        (2, "skipped", 0),
    ]
    assert lanes.purge(lane.id, by=ME) == 2
    assert DeadLetter.objects.count() == 2


def test_a_retried_head_has_all_its_retries_before_it_again_and_goes_at_once(lane_in, queue):
    lane, _ = lane_in("blocked")
    lanes.retry_head(lane.id, by=ME)
    (claimed,) = queue.claim(1)
    assert (claimed.lane_seq, claimed.tries) == (1, 1)


@pytest.mark.parametrize(
    "renew",
    [
        lambda lane: lanes.retry_head(lane.id, by=ME),
        lambda lane: lanes.reset(lane.id, by=ME),
        lambda lane: lanes.retry_blocked(lane.subscription_id, over_seconds=0, by=ME),
    ],
)
def test_the_tries_of_a_delivery_are_numbered_through_whoever_renews_its_retries(lane_in, queue, renew):
    lane, _ = lane_in("blocked")
    renew(lane)
    (claimed,) = queue.claim(1)
    assert (claimed.tries, claimed.try_number) == (1, 2)
    queue.record([Ended(claimed, Decision("block", reason="exhausted"), FAILED)])
    ids = set(AttemptLog.objects.values_list("id", flat=True))
    assert ids == {attempt_id(claimed.delivery_id, 1), attempt_id(claimed.delivery_id, 2)}


@pytest.mark.parametrize("number", [0, 1, 6])
def test_one_skips_forward_and_not_past_the_end(lane_in, number):
    lane, _ = lane_in("waiting")
    with pytest.raises(LaneConflict):
        lanes.skip_to(lane.id, number, by=ME)


def test_a_pause_during_a_request_takes_effect_when_it_ends(lane_in, queue):
    lane, claimed = lane_in("running")
    lanes.pause(lane.id, by=ME)
    assert queue.record([Ended(claimed, Decision("done"), OK, stay=True)]) == []
    assert (Lane.objects.get().phase, Lane.objects.get().head_seq) == (Phase.PAUSED, 2)
    assert queue.claim(10, now=datetime.now(UTC) + timedelta(days=1)) == []
    lanes.resume(lane.id, by=ME)
    assert queue.claim(10)[0].lane_seq == 2


def test_a_paused_empty_lane_keeps_what_comes_in(lane_in, queue):
    lane, _ = lane_in("empty")
    lanes.pause(lane.id, by=ME)
    publish(lane.subscription.application)
    assert queue.claim(10) == []
    lanes.resume(lane.id, by=ME)
    assert queue.claim(10)[0].lane_seq == EVENTS + 1


def test_all_blocked_lanes_of_a_subscription_are_retried_over_a_while(transactional_db, queue):
    application = make_application()
    subscription = make_fifo(application, fifo_key="ordering_key", fifo_on_exhausted="block")
    for key in "abcdefgh":
        publish(application, ordering_key=key)
    claimed = queue.claim(10)
    queue.record([Ended(each, Decision("block", reason="exhausted"), FAILED) for each in claimed])
    assert lanes.retry_blocked(subscription.id, over_seconds=600, by=ME) == 8
    ready = list(Lane.objects.values_list("ready_at", flat=True))
    assert len(set(ready)) == 8
    assert max(ready) - min(ready) > timedelta(seconds=10)
    assert max(ready) < datetime.now(UTC) + timedelta(seconds=601)
    assert OperatorAction.objects.get().details == {"lanes": 8}


@pytest.mark.django_db
def test_a_lane_that_is_not_there_is_not_found():
    with pytest.raises(NotFound):
        lanes.skip_head(4711, by=ME)


@pytest.mark.parametrize(
    ("verb", "kept"),
    [(lambda lane: lanes.skip_to(lane, 5, by=ME), [1, 2, 3, 4]), (lambda lane: lanes.purge(lane, by=ME), [3])],
    ids=["skip_to", "purge"],
)
def test_a_lane_goes_on_before_what_it_has_passed_is_taken_away(lane_in, open_connection, monkeypatch, verb, kept):
    """Or a million deliveries would hold up their lane, and the publishers that wait for it."""
    monkeypatch.setattr(lanes, "CLEARED_AT_A_TIME", 2)
    (lane, _), somebody = lane_in("waiting"), open_connection()
    with somebody.transaction():
        somebody.execute("SELECT FROM request_attempt WHERE lane_seq = 3 FOR UPDATE")
        assert verb(lane.id) == EVENTS
        lane.refresh_from_db()
        assert (lane.head_seq, lane.phase) == (5, Phase.EMPTY)
        assert RequestAttempt.objects.get().lane_seq == 3
    assert maintenance.clear_lanes() == 1
    assert not RequestAttempt.objects.exists()
    assert list(DeadLetter.objects.order_by("lane_seq").values_list("lane_seq", flat=True)) == kept
    assert maintenance.clear_lanes() == 0


def test_what_a_lane_has_passed_is_no_work_in_another_mode(lane_in, monkeypatch):
    monkeypatch.setattr(lanes, "clear", lambda *_, **__: None)  # it broke off
    lane, _ = lane_in("waiting")
    lanes.skip_to(lane.id, 4, by=ME)
    reconfigure.edit(lane.subscription_id, {"fifo_mode": False}, by=ME)
    assert RequestAttempt.objects.get().lane is None
    assert list(DeadLetter.objects.order_by("lane_seq").values_list("lane_seq", flat=True)) == [1, 2, 3]
