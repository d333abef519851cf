"""The queue seen from a pump: claim what is due, record what has ended. Both are a few statements in `sql/`."""

import base64
import logging
import math
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import orjson
import psycopg
from psycopg.errors import LockNotAvailable

from delivery import circuits
from delivery.attempt_ids import attempt_id
from delivery.claimed import Claimed
from delivery.low_water import LowWater
from delivery.outcome import Outcome
from delivery.retry import Decision
from delivery.statements import execute, statement
from subscriptions.models import PUBLIC_POOL

logger = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]

SUBSCRIPTIONS_PER_CLAIM = 24
POOLS_SECONDS = 2.0  # how long a named worker goes by what was assigned to it last
LOCKED_SECONDS = 1.0  # how long what needs a permit is put off, if nobody can give one now


@dataclass(frozen=True, slots=True)
class Ended:
    """A claim and what came of it; without an outcome it was never sent."""

    claimed: Claimed
    decision: Decision
    outcome: Outcome | None = None
    picked_at: datetime | None = None
    stay: bool = False  # lease the lane's next head to this pump at once


class Lease(NamedTuple):
    """A delivery without order that is leased; its event and its subscription are still to be read."""

    lane_id: None
    lane_seq: None
    delivery_id: uuid.UUID
    event_pk: int
    subscription_id: uuid.UUID
    epoch: int
    tries: int
    try_number: int
    created_at: datetime
    due_at: datetime
    is_cancelled: bool
    wait: float
    timeout_ms: int  # that the lease was made for


class Queue:
    """Claims and records over one connection in autocommit. Not to be shared between threads.

    It serves everybody, or as the named `worker` what is dedicated to that. A database that went away is an
    OperationalError now and a new connection at the next call.
    """

    def __init__(
        self, connect: Callable[[], Connection], *, lease_margin: float, process: str, worker: str | None = None
    ) -> None:
        self._connect = connect
        self._connection = connect()
        self.lease_margin = lease_margin
        self._process = process
        self._worker = worker
        self._pools = [PUBLIC_POOL] if worker is None else []
        self._pools_known_until = math.inf if worker is None else 0.0
        self._lanes_low: dict[int, LowWater] = defaultdict(LowWater)
        self._subscriptions_low: dict[int, LowWater] = defaultdict(LowWater)
        self._lanes_first = True
        self.held_up: list[Ended] = []  # of the last record: somebody holds its lane or its subscription

    @property
    def serves_everybody(self) -> bool:
        return PUBLIC_POOL in self._pools

    def claim(self, room: int, *, now: datetime | None = None) -> list[Claimed]:
        """Lease up to `room` due deliveries. Pools take turns, and in each lanes and subscriptions without order do."""
        kinds = [self._claim_lanes, self._claim_loose]
        claimed: list[Claimed] = []
        for pool in self._take_turns():
            for claim in kinds if self._lanes_first else reversed(kinds):
                if room > len(claimed):
                    claimed += claim(pool, room - len(claimed), now)
        self._lanes_first = not self._lanes_first
        return self._with_permits(claimed)

    def _take_turns(self) -> list[int]:
        """The pools that this worker serves, another one first each time."""
        if time.monotonic() >= self._pools_known_until:
            self._pools = [pool for (pool,) in self._execute("worker_pools", worker=self._worker)]
            self._pools_known_until = time.monotonic() + POOLS_SECONDS
        self._pools = self._pools[1:] + self._pools[:1]
        return self._pools

    def record(self, ended: Sequence[Ended]) -> list[Claimed]:
        """Write down what has ended; the answer is the next heads of lanes that this pump stays with.

        What is `held_up` then is to be said again.
        """
        began = time.monotonic()
        self.held_up = []
        lanes = [each for each in ended if each.claimed.lane_id is not None]
        loose = [each for each in ended if each.claimed.lane_id is None]
        self._keep_circuits(ended)
        if loose:
            self._write("record_loose", loose)
        if not lanes:
            return []
        moved = self._write("record_lanes", lanes)
        due = {each.claimed.lane_id: each.claimed.due_at for each in lanes}
        visits = {each.claimed.lane_id: each.claimed.visit_began for each in lanes}
        going_on = [
            (lane, next_seq, epoch, tries, timeout_ms, due[lane])
            for lane, _, next_seq, epoch, tries, timeout_ms in moved
            if next_seq is not None
        ]
        return self._with_permits(self._heads(going_on, began=began, visits=visits))

    def _write(self, name: str, ended: Sequence[Ended]) -> list[tuple[Any, ...]]:
        """Write results down; apart, if not all at once can be: nobody waits, or loses anything, because of another."""
        try:
            return self._execute(name, results=self._json(ended))
        except LockNotAvailable:
            parts = _by_subscription(ended)
            if len(parts) == 1:
                self.held_up += ended
                return []
        except (psycopg.DataError, psycopg.IntegrityError):
            parts = [[each] for each in ended]
            if len(parts) == 1:
                ids = {"fields": {"delivery_id": str(ended[0].claimed.delivery_id)}}
                logger.exception("A result is refused: its delivery waits for its lease to end", extra=ids)
                return []
        return [row for part in parts for row in self._write(name, part)]

    def _keep_circuits(self, ended: Sequence[Ended]) -> None:
        signs = circuits.read_signs((each.claimed, each.outcome) for each in ended if each.outcome)
        if not signs:
            return
        shortest, longest = circuits.PAUSE_SECONDS
        changed = []
        with suppress(LockNotAvailable):  # the next will be counted
            changed = self._execute(
                "count_outages",
                subscriptions=list(signs),
                outages=[sign.outages for sign in signs.values()],
                alive=[sign.alive for sign in signs.values()],
                probes=[sign.probe for sign in signs.values()],
                circuit_after=circuits.OPENS_AFTER,
                shortest=shortest,
                longest=longest,
            )
        for subscription_id, opens, until in changed:
            if opens:
                ids = {"fields": {"subscription_id": str(subscription_id)}}
                logger.warning("The circuit of subscription %s is open until %s", subscription_id, until, extra=ids)

    def light_beacon(self, seconds: float) -> None:
        """Tell publishers that nobody needs to ring for so long."""
        self._execute("light_beacon", seconds=seconds)

    def give_sign_of_life(self) -> list[Claimed]:
        """Tell operators that this pump is there. It brings no work."""
        self._execute("give_sign_of_life", process=self._process, worker=self._worker)
        return []

    def _claim_lanes(self, pool: int, room: int, now: datetime | None) -> list[Claimed]:
        began = time.monotonic()
        low = self._lanes_low[pool]
        lanes = self._execute("claim_lanes", pool=pool, room=room, now=now, low=low.mark(), margin=self.lease_margin)
        low.claimed([due for *_, due in lanes], full=len(lanes) == room)
        return self._heads(lanes, began=began, visits={})

    def _heads(
        self, lanes: Sequence[tuple[Any, ...]], *, began: float, visits: Mapping[int | None, float]
    ) -> list[Claimed]:
        if not lanes:
            return []
        names = ("lanes", "numbers", "epochs", "tries", "timeouts", "due")
        rows = self._execute("heads", **dict(zip(names, map(list, zip(*lanes, strict=True)), strict=True)))
        return [Claimed(began, visits.get(row[0], began), *row) for row in rows]

    def _claim_loose(self, pool: int, room: int, now: datetime | None) -> list[Claimed]:
        began = time.monotonic()
        most = min(room, SUBSCRIPTIONS_PER_CLAIM)
        low = self._subscriptions_low[pool]
        with self._live().transaction():
            picked = self._execute(
                "pick_subscriptions",
                pool=pool,
                now=now,
                low=low.mark(),
                share=room,
                subscriptions=most,
            )
            low.claimed([ready for *_, ready in picked], full=len(picked) == most)
            if not picked:
                return []
            share = room // len(picked)
            ids = [subscription for subscription, *_ in picked]
            rooms = [min(free, share) for _, free, _ in picked]
            rows = self._execute("take_attempts", subscriptions=ids, rooms=rooms, now=now, margin=self.lease_margin)
            leases = [Lease(*row) for row in rows]
            taken = Counter(lease.subscription_id for lease in leases)
            spent = [id_ for id_, free in zip(ids, rooms, strict=True) if taken[id_] < free]
            idle = {id_ for (id_,) in self._execute("lock_idle", subscriptions=spent)} if spent else set()
            self._execute(
                "settle_subscriptions",
                subscriptions=ids,
                rooms=rooms,
                taken=[taken[id_] for id_ in ids],
                idle=[id_ in idle for id_ in ids],
            )
        return self._load(leases, began=began) if leases else []

    def _load(self, leases: Sequence[Lease], *, began: float) -> list[Claimed]:
        """Each subscription once: a claim has many deliveries of each."""
        events = self._by_key("load_events", events=list({lease.event_pk for lease in leases}))
        timeouts = {lease.subscription_id: lease.timeout_ms for lease in leases}
        subscriptions = self._by_key(
            "load_subscriptions", subscriptions=list(timeouts), timeouts=list(timeouts.values())
        )
        return [
            Claimed(began, began, *lease[:-1], *events[lease.event_pk], *subscriptions[lease.subscription_id])
            for lease in leases
            if lease.event_pk in events and lease.subscription_id in subscriptions
        ]

    def _with_permits(self, claimed: list[Claimed]) -> list[Claimed]:
        """Let go only as many as a rate limit or a circuit allows; the others are put off."""
        wanted = Counter(each.subscription_id for each in claimed if each.asks)
        if not wanted:
            return claimed
        try:
            answers = self._execute(
                "permits",
                subscriptions=list(wanted),
                wanted=list(wanted.values()),
                margin=self.lease_margin,
            )
        except LockNotAvailable:
            answers = [(subscription_id, 0, False, LOCKED_SECONDS) for subscription_id in wanted]
        permits = {subscription: permit for subscription, *permit in answers}
        used: Counter[uuid.UUID] = Counter()
        asked = []
        for each in claimed:
            if each.asks and each.subscription_id in permits:
                granted, is_probe, pause = permits[each.subscription_id]
                used[each.subscription_id] += 1
                in_line = used[each.subscription_id] - granted
                if in_line <= 0:
                    asked.append(each._replace(is_probe=is_probe))
                else:
                    asked.append(each._replace(wait=pause if each.failing else pause * in_line))
            else:
                asked.append(each)
        return asked

    def _json(self, ended: Sequence[Ended]) -> str:
        """All results as one parameter: ten times cheaper than a list of values for each."""
        each_as = partial(self.result_of, process=self._process, margin=self.lease_margin)
        return orjson.dumps([each_as(each) for each in ended]).decode()

    @staticmethod
    def result_of(ended: Ended, *, process: str | None, margin: float) -> dict[str, Any]:
        """What came of a claim, as record_lanes.sql and record_loose.sql read it."""
        claimed, decision, outcome = ended.claimed, ended.decision, ended.outcome
        row = {
            "delivery_id": claimed.delivery_id,
            "event_id": claimed.event_pk,
            "subscription_id": claimed.subscription_id,
            "application_id": claimed.application_id,
            "lane_id": claimed.lane_id,
            "lane_seq": claimed.lane_seq,
            "epoch": claimed.epoch,
            "verdict": decision.verdict,
            "wait": decision.wait,
            "stay": ended.stay,
            "margin": margin,
            "received_at": claimed.received_at,
            "attempt_id": attempt_id(claimed.delivery_id, claimed.try_number),
            "try_number": claimed.try_number,
            "worker": process,
            "created_at": claimed.created_at,
            "due_at": claimed.due_at,
            "picked_at": ended.picked_at,
            "reason": decision.reason,
        }
        if outcome is not None:
            row |= {
                "error_name": outcome.error_name,
                "http_status": outcome.http_status,
                "response_headers": outcome.headers,
                "response_body": base64.b64encode(outcome.body).decode() if outcome.body else None,
                "elapsed_ms": outcome.elapsed_ms,
            }
        return row

    def _by_key(self, name: str, **parameters: Any) -> dict[Any, list[Any]]:
        """The rows of a statement by their first column."""
        return {key: rest for key, *rest in self._execute(name, **parameters)}

    def _execute(self, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return execute(self._live(), statement(name), parameters)

    def _live(self) -> Connection:
        if self._connection.closed:
            self._connection = self._connect()
        return self._connection


def _by_subscription(ended: Iterable[Ended]) -> list[list[Ended]]:
    parts: dict[uuid.UUID, list[Ended]] = defaultdict(list)
    for each in ended:
        parts[each.claimed.subscription_id].append(each)
    return list(parts.values())
