"""The pump: one plain loop that claims, sends and records, with a sliding window of requests in flight.

The database's part is done by a clerk in a thread of its own, one errand at a time: while it is away, requests go on
and what has ended gathers for the next errand.
"""

import logging
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import random

import psycopg

from delivery import hooks
from delivery.claimed import Claimed
from delivery.clerk import Clerk
from delivery.outcome import E_WORKER_LOST, Outcome
from delivery.queue import Ended, Queue
from delivery.retry import Decision, Policy, decide, exhausted, policy_for
from delivery.sender import Sender
from delivery.webhook import build_request

logger = logging.getLogger(__name__)

POLL_SECONDS = (0.002, 0.025)  # while nothing is due, from the first to the longest pause between two looks
VISIT_SECONDS = 2.0  # how long a pump stays with a lane before the lane goes back in line
BEACON_SECONDS = 0.3
SIGN_SECONDS = (0.5, 5.0)  # after the start, and from then on: a sign of life
DATABASE_PAUSE_SECONDS = 1.0
LOCKED_PAUSE_SECONDS = 1.0
CROWD_SECONDS = 0.5
BURST = 16
FEW = 8  # requests that are not worth a thread


class Pump:
    """Works while there is work, lingers a moment, and returns."""

    def __init__(
        self,
        queue: Queue,
        sender: Sender[Claimed],
        *,
        window: int,
        linger: float,
        stopping: Callable[[], bool] = lambda: False,
        dice: Callable[[], float] = random,
    ) -> None:
        self._queue = queue
        self._sender = sender
        self._window = window
        self._linger = linger
        self._stopping = stopping
        self._dice = dice
        self._to_send: deque[Claimed] = deque()
        self._ended: list[Ended] = []  # kept until the database has them
        self._at_the_clerks: list[Ended] = []  # being written down
        self._held_up: list[Ended] = []  # what waits for somebody's lock
        self._room_asked_for = 0
        self._claims_next = True
        self._requests: Counter[uuid.UUID] = Counter()  # in flight, by subscription
        self._recorded = 0
        self._sign_at = 0.0
        self._pause = POLL_SECONDS[0]
        self._last_work = self._look_at = self._write_at = self._relight_at = time.monotonic()
        self._say_again_at = 0.0

    def run(self) -> int:
        """Deliver until nothing has been due for a while; how many tries were recorded."""
        self._last_work = time.monotonic()
        self._sign_at = self._last_work + SIGN_SECONDS[0]
        self._clerk = Clerk(done=self._sender.wake)
        try:
            while self._has_reason_to_go_on():
                self._take_paperwork()
                self._give_paperwork()
                self._send()
                self._collect()
        finally:
            self._clerk.dismiss()
        return self._recorded

    def _has_reason_to_go_on(self) -> bool:
        if self._to_send or self._sender.in_flight or self._clerk.is_engaged:
            return True
        if self._stopping():
            # With the database away, the leases end by themselves and others try again.
            return bool(self._ended) and time.monotonic() >= self._write_at
        # The beacon that was lit last may promise a look for another moment: keep that promise.
        idle = time.monotonic() - self._last_work
        return bool(self._ended or self._held_up) or idle <= self._linger + BEACON_SECONDS

    def _take_paperwork(self) -> None:
        """What the clerk brings back is sent: claims, or the next heads of lanes that we stay with."""
        if not self._clerk.is_back:
            return
        ended, self._at_the_clerks = self._at_the_clerks, []
        now = time.monotonic()
        try:
            claimed: list[Claimed] = self._clerk.receive()
        except psycopg.OperationalError as problem:
            if ended:
                self._ended = ended + self._ended
                self._write_at = now + DATABASE_PAUSE_SECONDS
                logger.warning("%d results wait for the database: %s", len(ended), problem)
            else:
                self._look_at = now + DATABASE_PAUSE_SECONDS
                logger.warning("The database does not answer, looking again in a moment: %s", problem)
            return
        if ended:
            held_up = self._queue.held_up
            self._recorded += len(ended) - len(held_up)
            self._look_at = now
            if held_up:
                self._held_up += held_up
                self._say_again_at = now + LOCKED_PAUSE_SECONDS
        else:
            self._pause = POLL_SECONDS[0] if claimed else min(self._pause * 2, POLL_SECONDS[1])
            self._look_at = now if len(claimed) == self._room_asked_for else now + self._pause
        if ended or claimed:
            self._last_work = now
        self._to_send.extend(claimed)

    def _give_paperwork(self) -> None:
        """What has ended is to be written down, and what is due and fits into the window to be leased; in turn."""
        if self._clerk.is_away:
            return
        now = time.monotonic()
        may_record, may_claim = self._may_record(now), self._may_claim(now)
        give = self._clerk.send if self._sender.in_flight + len(self._to_send) > FEW else self._clerk.do
        if now >= self._sign_at:
            self._sign_at = now + SIGN_SECONDS[1]
            give(self._queue.give_sign_of_life)
        elif self._held_up and now >= self._say_again_at:
            self._at_the_clerks, self._held_up = self._held_up, []
            give(self._record, self._at_the_clerks)
        elif may_record and not (may_claim and self._claims_next):
            self._at_the_clerks, self._ended = self._ended, []
            self._claims_next = True
            give(self._record, self._at_the_clerks)
        elif may_claim:
            self._room_asked_for = self._room
            self._claims_next = False
            give(self._claim, self._room, now)
        self._take_paperwork()

    @property
    def _room(self) -> int:
        waiting = len(self._ended) + len(self._held_up)
        return self._window - self._sender.in_flight - len(self._to_send) - waiting

    def _may_record(self, now: float) -> bool:
        return bool(self._ended) and now >= self._write_at

    def _may_claim(self, now: float) -> bool:
        return self._room > 0 and now >= self._look_at and not self._stopping()

    def _claim(self, room: int, now: float) -> list[Claimed]:
        if self._queue.serves_everybody and now - self._last_work < self._linger and now >= self._relight_at:
            self._queue.light_beacon(BEACON_SECONDS)
            self._relight_at = now + BEACON_SECONDS / 2
        began = time.monotonic()
        claimed = self._queue.claim(room)
        hooks.claimed(len(claimed), time.monotonic() - began)
        return claimed

    def _record(self, ended: list[Ended]) -> list[Claimed]:
        began = time.monotonic()
        heads = self._queue.record(ended)
        if held_up := self._queue.held_up:
            ended = [each for each in ended if each not in held_up]
        hooks.recorded(ended, time.monotonic() - began)
        return heads

    def _send(self) -> None:
        """Begin some requests: a few, so that what is in flight is looked after in between."""
        for _ in range(min(BURST, len(self._to_send))):
            self._start(self._to_send.popleft())

    def _start(self, claimed: Claimed) -> None:
        """Begin the request, unless this claim is better given back."""
        if claimed.is_cancelled:
            self._ended.append(Ended(claimed, Decision("cancel"), stay=self._stays_with(claimed)))
        elif claimed.is_paused:
            self._ended.append(Ended(claimed, Decision("park" if claimed.lane_id else "defer")))
        elif claimed.wait:
            self._ended.append(Ended(claimed, Decision("defer", claimed.wait)))
        elif claimed.tries > _policy(claimed).max_tries:
            outcome = Outcome(
                E_WORKER_LOST,
                body=b"No tries are left: its last were lost with their workers, or its retries were cut.",
            )
            self._ended.append(Ended(claimed, exhausted(blocks=claimed.blocks), outcome))
        elif self._would_crowd_out(claimed):
            self._ended.append(Ended(claimed, Decision("defer", CROWD_SECONDS)))
        elif time.monotonic() - claimed.leased_at > self._queue.lease_margin:
            self._ended.append(Ended(claimed, Decision("defer")))  # it might outlive its lease
        else:
            self._sender.start(build_request(claimed, timestamp=int(time.time())), claimed)
            self._requests[claimed.subscription_id] += 1

    def _would_crowd_out(self, claimed: Claimed) -> bool:
        """The last quarter of the window is for who has less than a quarter: many lanes of one slow endpoint, or its
        time-outs before the circuit opens, must leave room for the others."""
        quarter = self._window // 4
        if claimed.is_probe:
            return False
        return self._sender.in_flight >= 3 * quarter and self._requests[claimed.subscription_id] >= quarter > 0

    def _collect(self) -> None:
        """Wait for an answer, unless there is something else to do: a claim, too, is better made while a lane's webhook
        is under way than when its answer is there to be recorded."""
        now = time.monotonic()
        paperwork = not self._clerk.is_away and (self._may_record(now) or self._may_claim(now))
        ended = self._sender.wait(0 if self._to_send or paperwork else self._pause)
        self._ended += [self._judge(claimed, outcome) for claimed, outcome in ended]

    def _judge(self, claimed: Claimed, outcome: Outcome) -> Ended:
        self._requests[claimed.subscription_id] -= 1
        if not self._requests[claimed.subscription_id]:
            del self._requests[claimed.subscription_id]
        decision = decide(
            policy=_policy(claimed),
            tries=claimed.tries,
            outcome=outcome,
            blocks=claimed.blocks,
            dice=self._dice(),
        )
        now = datetime.now(UTC)
        return Ended(
            claimed,
            decision,
            outcome,
            picked_at=now - timedelta(milliseconds=outcome.elapsed_ms or 0),
            stay=self._stays_with(claimed),
        )

    def _stays_with(self, claimed: Claimed) -> bool:
        return not self._stopping() and time.monotonic() - claimed.visit_began < VISIT_SECONDS


def _policy(claimed: Claimed) -> Policy:
    return policy_for(fifo=claimed.fifo_mode, own=claimed.retry_policy, backoff_schedule=claimed.backoff_schedule)
