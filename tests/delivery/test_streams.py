"""Streams of consumers that stay connected: capacity, waking, filters, what is given back; all in one event loop."""

import asyncio
import time
import uuid
from contextlib import asynccontextmanager

import pytest
from django.db import ProgrammingError, connection

from delivery import maintenance, reconfigure, stream
from delivery.audit import Operator
from delivery.database import connect
from delivery.finish import Report, extend, finish
from delivery.models import AttemptLog, Lane, RequestAttempt
from delivery.pull import Wanted, look_for_work, poll
from delivery.stream import Terms
from delivery.streams import Streams
from delivery.waking import Waker
from tests.factories import make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

PULL = {"target_type": "pull", "url": "", "max_in_flight": 1_000}
BY = Operator("tester")
SOON, A_WHILE = 10, 0.5


@pytest.fixture(params=[make_subscription, make_fifo], ids=["loose", "fifo"])
def make(request):
    """One of either kind."""
    return request.param


@pytest.fixture
def streams():
    streams = Streams(Waker(lambda: connect(name="test streams"), look_for_work))
    yield streams
    streams.close()


async def in_thread(function, *args, **kwargs):
    """As asyncio's, with a connection that ends with it."""

    def work():
        try:
            return function(*args, **kwargs)
        finally:
            connection.close()

    return await asyncio.to_thread(work)


class Consumer:
    """Reads a stream by and by."""

    def __init__(self, streams, subscription, **terms):
        terms = {"max_assigned": 10, "wanted": Wanted(), "is_allowed": lambda: True, **terms}
        self.stream = streams.open(Terms(subscription.pk, **terms))
        self.subscription = subscription
        self.deliveries = self.stream.deliveries()
        self._reading = None

    async def read(self, seconds=SOON):
        """The next delivery, or None if none comes in time; pings are passed by."""
        until = time.monotonic() + seconds
        while True:
            self._reading = self._reading or asyncio.ensure_future(anext(self.deliveries))
            done, _ = await asyncio.wait([self._reading], timeout=until - time.monotonic())
            if not done:
                return None
            reading, self._reading = self._reading, None
            if each := reading.result():
                self.last_id = each[0]
                return each[1]

    async def tell(self, *pulled, error=None):
        reports = [Report(each.receipt, error) for each in pulled]
        accepted = await in_thread(finish, self.subscription, reports, by="tester")
        assert accepted == {each.receipt for each in pulled}

    async def leave(self):
        self.stream.end()
        try:
            while self._reading is None or await self._reading:
                self._reading = asyncio.ensure_future(anext(self.deliveries))
        except StopAsyncIteration:
            pass
        self._reading = None


@asynccontextmanager
async def connected(*consumers):
    try:
        for consumer in consumers:
            assert await consumer.read(0.2) is None  # they are in line when the first event comes
        yield
    finally:
        for consumer in consumers:
            await consumer.leave()


async def publish_some(application, count=1, **overrides):
    return [each.event_id for each in await in_thread(publish, application, count, **overrides)]


def test_what_comes_is_sent_at_once_and_not_at_the_next_look(application, streams, make):
    consumer = Consumer(streams, make(application, **PULL))

    async def scene():
        async with connected(consumer):
            waits = []
            for _ in range(5):
                began = time.monotonic()
                (event,) = await publish_some(application)
                pulled = await consumer.read()
                waits.append(time.monotonic() - began)
                assert pulled.claimed.event_id == event
                await consumer.tell(pulled)
            assert sorted(waits)[1] < 0.4  # a look comes each second

    asyncio.run(scene())


def test_no_more_is_sent_than_the_capacity_and_more_when_some_end(application, streams):
    subscription = make_subscription(application, **PULL, retry_policy={"schedule_ms": [3_600_000]})
    consumer = Consumer(streams, subscription, max_assigned=3)

    async def scene():
        async with connected(consumer):
            await publish_some(application, 8)
            first = [await consumer.read() for _ in range(3)]
            assert await consumer.read(A_WHILE) is None
            await consumer.tell(first[0])
            await consumer.tell(first[1], error="no")
            more = [await consumer.read(), await consumer.read()]
            assert await consumer.read(A_WHILE) is None
            ids = {each.claimed.delivery_id for each in first + more}
            assert len(ids) == 5

    asyncio.run(scene())


def test_a_lease_that_ends_frees_capacity_and_one_that_is_extended_does_not(application, streams, monkeypatch):
    monkeypatch.setattr(stream, "RECOUNT_SECONDS", 0.2)
    subscription = make_subscription(application, **PULL | {"lease_seconds": 1})
    consumer = Consumer(streams, subscription, max_assigned=2)

    async def scene():
        async with connected(consumer):
            await publish_some(application, 3)
            first, second = await consumer.read(), await consumer.read()
            await in_thread(extend, subscription.pk, [first.receipt], seconds=600)
            third = await consumer.read()
            assert third.claimed.delivery_id not in {first.claimed.delivery_id, second.claimed.delivery_id}
            assert set(consumer.stream.held.assigned) == {first.claimed.delivery_id, third.claimed.delivery_id}

    asyncio.run(scene())


def test_a_lane_is_streamed_in_order_one_after_the_other(application, streams):
    subscription = make_fifo(application, **PULL)
    consumer, other = (Consumer(streams, subscription) for _ in range(2))

    async def scene():
        async with connected(consumer, other):
            events = await publish_some(application, 6)
            seen = []
            while len(seen) < 6:
                reading = {asyncio.ensure_future(each.read()): each for each in (consumer, other)}
                done, waiting = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
                assert len(done) == 1
                pulled = done.pop().result()
                seen.append(pulled.claimed.event_id)
                for each in waiting:
                    each.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
                await consumer.tell(pulled)
            assert seen == events

    asyncio.run(scene())


def test_each_stream_gets_what_it_asks_for(application, streams):
    subscription = make_subscription(application, **PULL)
    europe = Consumer(streams, subscription, wanted=Wanted(labels={"region": "eu"}))
    nobody = Consumer(streams, subscription, wanted=Wanted(["other.*"]))
    america = Consumer(streams, subscription, wanted=Wanted(["billing.*"], {"region": "us"}))

    async def scene():
        async with connected(europe, nobody, america):
            (us,) = await publish_some(application, labels={"shop": "1", "region": "us"})
            (eu,) = await publish_some(application, labels={"shop": "1", "region": "eu"})
            assert (await america.read()).claimed.event_id == us
            assert (await europe.read()).claimed.event_id == eu
            assert await nobody.read(A_WHILE) is None

    asyncio.run(scene())


def test_many_streams_share_and_nothing_is_sent_twice(application, streams):
    subscription = make_subscription(application, **PULL)
    consumers = [Consumer(streams, subscription, max_assigned=2) for _ in range(20)]

    async def consume(consumer, seen):
        while pulled := await consumer.read(3):
            seen.append(pulled.claimed.event_id)
            await consumer.tell(pulled)

    async def scene():
        seen = []
        reading = [asyncio.ensure_future(consume(consumer, seen)) for consumer in consumers]
        events = [each for _ in range(4) for each in await publish_some(application, 25)]
        await asyncio.gather(*reading)
        assert sorted(seen) == sorted(events)
        for consumer in consumers:
            await consumer.leave()

    asyncio.run(scene())
    assert not RequestAttempt.objects.exists()
    assert AttemptLog.objects.filter(succeeded=False).count() == 0


def test_what_a_stream_had_not_sent_is_given_back_and_costs_no_try(application, streams):
    subscription = make_subscription(application, **PULL)
    publish(application, 5)
    consumer = Consumer(streams, subscription)

    async def scene():
        first = await consumer.read()
        await consumer.deliveries.aclose()
        return first

    first = asyncio.run(scene())
    left = poll(subscription, most=10, wanted=Wanted())
    assert len(left) == 4
    assert {each.claimed.try_number for each in left} == {1}
    assert finish(subscription, [Report(first.receipt)], by="tester") == {first.receipt}


def test_a_consumer_that_comes_back_keeps_what_it_saw_and_gets_again_what_was_lost_on_the_way(application, streams):
    subscription = make_subscription(application, **PULL)
    publish(application, 3)
    before = Consumer(streams, subscription, max_assigned=3)

    async def scene():
        seen, last_id = await before.read(), before.last_id
        lost = [await before.read(), await before.read()]  # it was sent, and never came
        after = Consumer(streams, subscription, max_assigned=3, last_event_id=last_id)
        again = [await after.read(), await after.read()]
        assert {each.claimed.event_id for each in again} == {each.claimed.event_id for each in lost}
        assert {each.claimed.try_number for each in again} == {1}
        (event,) = await publish_some(application)
        assert await after.read(A_WHILE) is None  # what it saw is still its own, and counts
        await after.tell(seen)
        assert (await after.read()).claimed.event_id == event
        with pytest.raises(StopAsyncIteration):
            await before.read()
        await after.leave()

    asyncio.run(scene())
    assert not AttemptLog.objects.filter(succeeded=False).exists()


def test_a_consumer_whose_connection_flaps_keeps_what_it_saw(application, streams):
    """It comes back with the same id again and again: it was sent nothing since, so it knows no other."""
    subscription = make_subscription(application, **PULL)
    publish(application, 2)

    async def scene():
        consumer = Consumer(streams, subscription, max_assigned=1)
        seen, last_id = await consumer.read(), consumer.last_id
        for leaves in (True, False, True, False):
            if leaves:
                await consumer.leave()
            consumer = Consumer(streams, subscription, max_assigned=1, last_event_id=last_id)
            assert await consumer.read(A_WHILE) is None
        await consumer.tell(seen)
        second = await consumer.read()
        assert second.claimed.event_id != seen.claimed.event_id
        assert consumer.last_id != last_id
        await consumer.leave()

    asyncio.run(scene())


def test_the_id_of_another_subscriptions_stream_or_of_none_gives_nothing(application, streams):
    mine, others = make_subscription(application, **PULL), make_subscription(application, **PULL)
    publish(application)
    theirs = Consumer(streams, others)

    async def scene():
        await theirs.read()
        for last_id in (f"{theirs.stream.held.id}-0", "nonsense", f"{uuid.uuid4().hex}-1", "-", "x-y-z"):
            consumer = Consumer(streams, mine, last_event_id=last_id)
            await consumer.read(A_WHILE)
            await consumer.leave()
        assert len(theirs.stream.held.assigned) == 1
        await theirs.leave()

    asyncio.run(scene())
    assert RequestAttempt.objects.filter(subscription=others, lease_until=None).count() == 0


@pytest.mark.parametrize("change", ["delete", "to http"])
def test_a_stream_ends_when_there_is_nothing_more_to_pull(application, streams, change):
    subscription = make_subscription(application, **PULL)
    consumer = Consumer(streams, subscription)

    def do():
        if change == "delete":
            reconfigure.delete(subscription.pk, by=BY)
        else:
            reconfigure.edit(subscription.pk, {"target_type": "http", "url": "http://127.0.0.1:9/"}, by=BY)

    async def scene():
        await consumer.read(A_WHILE)
        await in_thread(do)
        consumer.stream.wake()
        with pytest.raises(StopAsyncIteration):
            await consumer.read()

    asyncio.run(scene())


def test_a_stream_ends_when_its_consumer_is_allowed_no_more(application, streams, monkeypatch):
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.1)
    allowed = [True]
    consumer = Consumer(streams, make_subscription(application, **PULL), is_allowed=lambda: allowed[0])

    async def scene():
        assert await consumer.read(A_WHILE) is None
        allowed[0] = False
        consumer.stream.wake()
        with pytest.raises(StopAsyncIteration):
            await consumer.read()

    asyncio.run(scene())


def test_a_stream_that_fails_leaves_nothing_behind(application, streams, monkeypatch):
    def fail(*_, **__):
        raise ProgrammingError("no such column")

    consumer = Consumer(streams, make_subscription(application, **PULL))

    async def scene():
        assert await consumer.read(A_WHILE) is None
        monkeypatch.setattr(stream, "poll", fail)
        consumer.stream.wake()
        with pytest.raises(ProgrammingError):
            await consumer.read()

    asyncio.run(scene())
    assert not streams._rooms


def test_what_comes_due_by_itself_is_found_within_a_second_or_so(application, streams, make):
    subscription = make(application, **PULL, retry_policy={"schedule_ms": [300]})
    consumer = Consumer(streams, subscription)

    async def scene():
        async with connected(consumer):
            await publish_some(application)
            await consumer.tell(await consumer.read(), error="no")
            assert (await consumer.read(5)).claimed.try_number == 2

    asyncio.run(scene())


def test_a_stream_that_is_idle_pings_and_asks_the_database_nothing_meanwhile(application, streams, monkeypatch):
    monkeypatch.setattr(stream, "PING_SECONDS", 1.0)
    asked = []

    def poll_nothing(*_, **__):
        asked.append(1)
        return []

    monkeypatch.setattr(stream, "poll", poll_nothing)
    consumer = Consumer(streams, make_subscription(application, **PULL))

    async def scene():
        pings = 0
        until = time.monotonic() + 3.5
        while time.monotonic() < until:
            assert await asyncio.wait_for(anext(consumer.deliveries), SOON) is None
            pings += 1
        assert 3 <= pings <= 5
        assert len(asked) <= pings
        await consumer.leave()

    asyncio.run(scene())


def test_while_the_database_is_away_streams_stay_and_afterwards_go_on(application, streams, open_connection):
    consumer = Consumer(streams, make_subscription(application, **PULL))

    async def scene():
        async with connected(consumer):
            open_connection().execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            (event,) = await publish_some(application)
            assert (await consumer.read()).claimed.event_id == event

    asyncio.run(scene())
    connection.close()


def test_a_killed_consumers_deliveries_come_back_in_order(application, streams):
    subscription = make_fifo(application, **PULL, fifo_key="ordering_key", lease_seconds=1)
    for number in range(3):
        publish(application, ordering_key=str(number))
        publish(application, ordering_key=str(number))
    dead, heir = Consumer(streams, subscription), Consumer(streams, subscription)

    async def scene():
        lost = [await dead.read() for _ in range(3)]
        async with connected(heir):
            await asyncio.sleep(1.2)
            await in_thread(maintenance.reap)
            again = [await heir.read() for _ in range(3)]
            assert {each.claimed.delivery_id for each in again} == {each.claimed.delivery_id for each in lost}
            assert {(each.claimed.lane_seq, each.claimed.try_number) for each in again} == {(1, 2)}
            await heir.tell(*again)
            assert {(await heir.read()).claimed.lane_seq for _ in range(3)} == {2}
        await dead.leave()

    asyncio.run(scene())
    assert Lane.objects.count() == 3
