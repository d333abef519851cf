"""A lane against an oracle: any sequence of publishing, claiming, ending, dying and operating."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from delivery import lanes, maintenance
from delivery.audit import Operator
from delivery.database import connect
from delivery.models import DeadLetter, Lane, Phase, RequestAttempt
from delivery.outcome import E_HTTP, Outcome
from delivery.problems import LaneConflict
from delivery.queue import Ended, Queue
from delivery.retry import Decision
from tests.factories import make_application, make_fifo, publish

ME = Operator("me", "why not")
OK, FAILED = Outcome(None, http_status=200), Outcome(E_HTTP, http_status=400)
DONE, RETRY = Decision("done"), Decision("retry", wait=0.0)
DEAD, BLOCK = Decision("dead", reason="exhausted"), Decision("block", reason="exhausted")


class LaneMachine(RuleBasedStateMachine):
    """What the oracle knows: the numbers, the phase, who holds the lease, what was acknowledged and what was buried."""

    @initialize()
    def begin(self):
        call_command("flush", verbosity=0, interactive=False)
        self.queue = Queue(lambda: connect(name="model"), lease_margin=15.0, process="model")
        self.application = make_application()
        make_fifo(self.application)
        self.head, self.tail = 1, 0
        self.phase, self.is_paused, self.tries = Phase.EMPTY, False, 0
        self.lease, self.late = None, []
        self.acknowledged, self.buried = [], set()

    def teardown(self):
        if hasattr(self, "queue"):
            self.queue._connection.close()

    def settle(self):
        """Without lease or block."""
        if self.lease:
            self.late.append(self.lease)
            self.lease = None
        empty = self.head > self.tail
        self.phase = Phase.PAUSED if self.is_paused else Phase.EMPTY if empty else Phase.WAITING

    def advance(self, by=1):
        self.head += by
        self.tries = 0
        self.settle()

    @rule(count=st.integers(1, 4))
    def publishes(self, count):
        publish(self.application, count)
        self.tail += count
        if self.phase == Phase.EMPTY:
            self.phase = Phase.WAITING

    @rule()
    def claims(self):
        claimed = self.queue.claim(5)
        if self.phase == Phase.WAITING:
            (self.lease,) = claimed
            assert self.lease.lane_seq == self.head
            self.tries += 1
            assert self.lease.tries == self.tries
            self.phase = Phase.RUNNING
        else:
            assert claimed == []

    @precondition(lambda self: self.lease)
    @rule(decision=st.sampled_from([DONE, RETRY, DEAD, BLOCK]), stay=st.booleans())
    def ends(self, decision, stay):
        lease, self.lease = self.lease, None
        outcome = OK if decision is DONE else FAILED
        following = self.queue.record([Ended(lease, decision, outcome, stay=stay)])
        if decision in {DONE, DEAD}:
            (self.acknowledged.append if decision is DONE else self.buried.add)(self.head)
            self.advance()
            if stay and self.phase == Phase.WAITING:
                (self.lease,) = following
                assert (self.lease.lane_seq, self.lease.tries) == (self.head, 1)
                self.phase, self.tries = Phase.RUNNING, 1
                return
        elif decision is BLOCK and not self.is_paused:
            self.phase = Phase.BLOCKED
        else:
            self.settle()
        assert following == []

    @precondition(lambda self: self.late)
    @rule(decision=st.sampled_from([DONE, RETRY, DEAD, BLOCK]), data=st.data())
    def ends_too_late(self, decision, data):
        late = data.draw(st.sampled_from(self.late))
        self.queue.record([Ended(late, decision, OK if decision is DONE else FAILED, stay=True)])

    @rule()
    def a_lease_runs_out(self):
        maintenance.reap(now=datetime.now(UTC) + timedelta(hours=1))
        if self.phase == Phase.RUNNING:
            self.settle()

    def act(self, verb, **arguments):
        """Whether the lane let it be done; it may refuse where nothing waits."""
        lane = Lane.objects.first()
        if lane is None:
            return False
        try:
            verb(lane.pk, by=ME, **arguments)
        except LaneConflict:
            assert self.head > self.tail or (verb is lanes.retry_head and self.phase == Phase.RUNNING)
            return False
        return True

    @rule(everything=st.booleans())
    def an_operator_skips(self, everything):
        to = self.tail + 1 if everything else self.head + 1
        if self.act(lanes.skip_to, number=to) if everything else self.act(lanes.skip_head):
            self.buried |= set(range(self.head, to))
            self.advance(to - self.head)

    @rule()
    def an_operator_purges(self):
        if self.act(lanes.purge):
            self.advance(self.tail + 1 - self.head)

    @rule()
    def an_operator_pauses(self):
        if self.act(lanes.pause):
            self.is_paused = True
            if self.phase not in {Phase.RUNNING, Phase.BLOCKED}:
                self.phase = Phase.PAUSED

    @rule()
    def an_operator_resumes(self):
        if self.act(lanes.resume):
            self.is_paused = False
            if self.phase == Phase.PAUSED:
                self.settle()

    @rule(verb=st.sampled_from([lanes.retry_head, lanes.reset]))
    def an_operator_retries_or_resets(self, verb):
        if self.act(verb):
            self.is_paused = self.is_paused and verb is lanes.retry_head
            self.tries = 0
            self.settle()

    @invariant()
    def the_lane_is_as_the_oracle_says(self):
        lane = Lane.objects.first()
        if lane is None:
            assert getattr(self, "tail", 0) == 0
            return
        assert (Phase(lane.phase), lane.head_seq, lane.tail_seq, lane.is_paused, lane.tries) == (
            self.phase,
            self.head,
            self.tail,
            self.is_paused,
            self.tries,
        )
        waiting = list(RequestAttempt.objects.order_by("lane_seq").values_list("lane_seq", flat=True))
        assert waiting == list(range(self.head, self.tail + 1))
        assert set(DeadLetter.objects.values_list("lane_seq", flat=True)) == self.buried
        assert self.acknowledged == sorted(set(self.acknowledged))


@pytest.mark.django_db(transaction=True)
def test_a_lane_does_what_the_oracle_says():
    run_state_machine_as_test(
        LaneMachine,
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
