"""What a claim costs does not depend on what waits: EXPLAIN (ANALYZE, BUFFERS) at a thousand and at a million."""

import json
import uuid
from collections.abc import Iterator

import orjson
import pytest
from django.db import connection as django

from delivery.database import connect
from delivery.outcome import Outcome
from delivery.queue import Ended, Queue
from delivery.retry import Decision
from delivery.statements import statement
from events.limits import BATCH_EVENTS
from tests.factories import EVENT_TYPE, make_application, make_event_type, make_fifo, make_subscription, publish
from tests.plans.explain import FILL_LANES, FILL_LOOSE, READY, claim_lanes, explain, fill, heads_of

SMALL, LARGE = 1_000, 1_000_000
POLL_PAGES = 10
AN_INGEST = {
    "event_type": EVENT_TYPE, "payload_content_type": "application/json", "labels": {"shop": "1"}, "metadata": {},
    "occurred_at": "2026-01-01T00:00:00Z", "priority": 100,
}  # fmt: skip
FILL_SUBSCRIPTIONS = """
-- Somebody else has many subscriptions to the same.
INSERT INTO subscription
SELECT s.*
  FROM subscription AS one, generate_series(1, %(count)s) AS n,
       LATERAL jsonb_populate_record(one, jsonb_build_object(
         'id', gen_random_uuid(), 'application_id', %(of)s::text, 'description', n::text)) AS s
 WHERE one.id = %(like)s
"""


@pytest.fixture
def connection(transactional_db) -> Iterator:
    """As a pump has it: plans are made once, whatever the statistics of the moment."""
    connection = connect(name="plans")
    yield connection
    connection.close()


def test_the_claim_of_lanes_costs_the_same_at_a_thousand_and_at_a_million(connection):
    subscription = make_fifo(make_application(), fifo_key="ordering_key").id
    pages, records = {}, {}
    for pending in (SMALL, LARGE):
        fill(connection, FILL_LANES, pending=pending, subscription=subscription)
        claim, heads = claim_lanes(connection), heads_of(connection)
        for plan in (claim, heads):
            assert not plan.read_whole() & {"fifo_subscription_state", "request_attempt"}
            assert plan.sorted_rows() == 0
        pages[pending] = claim.pages + heads.pages
        recorded = record_lanes(connection)
        assert not recorded.read_whole() & {"fifo_subscription_state", "request_attempt", "subscription"}
        records[pending] = recorded.pages
        assert idle_look(connection) <= POLL_PAGES
    assert pages[LARGE] <= 1.1 * pages[SMALL], pages
    assert records[LARGE] <= 1.1 * records[SMALL], records


def record_lanes(connection):
    """Every lane that is ready has its head acknowledged; the pump stays with each."""
    queue = Queue(lambda: connection, lease_margin=15.0, process="plans")
    with connection.transaction(force_rollback=True):
        ended = [Ended(each, Decision("done"), Outcome(None), stay=True) for each in queue.claim(READY)]
        assert len(ended) == READY
        results = orjson.dumps([Queue.result_of(each, process="plans", margin=15.0) for each in ended]).decode()
        explained = explain(connection, "record_lanes", results=results)
    assert explained.plan["Actual Rows"] == READY
    return explained


def idle_look(connection):
    """The pages of a look while all lanes are blocked, or wait for later."""
    connection.execute(
        "UPDATE fifo_subscription_state SET ready_at = now() + interval '1 hour' WHERE phase = 1 AND ready_at <= now()"
    )
    connection.execute("VACUUM fifo_subscription_state")
    idle = claim_lanes(connection)
    subscriptions = explain(
        connection, "pick_subscriptions", pool=0, now=None, low="-infinity", share=50, subscriptions=50
    )
    return idle.pages + subscriptions.pages


def new_events(count):
    """What ingest hands to the fan-out of as many events, each with an ordering key of its own."""
    return [{**AN_INGEST, "event_id": str(uuid.uuid4()), "ordering_key": f"key {number}"} for number in range(count)]


def ingest(connection, application, new):
    return explain(
        connection, "fan_out", new=orjson.dumps(new).decode(),
        ids=[event["event_id"] for event in new], payloads=[r"\\x7b7d"] * len(new),
        types=list({event["event_type"] for event in new}),
        application=application.id, stored=[], only=None, priority=None, apart=0,
    )  # fmt: skip


def test_an_event_costs_the_same_whatever_waits_and_however_many_others_subscribe(connection):
    application = make_application()
    subscription = make_fifo(application, fifo_key="ordering_key").id
    others, pages = make_application(), {}
    for pending, subscriptions in ((SMALL, 10), (LARGE, 20_000)):
        fill(connection, FILL_LANES, pending=pending, subscription=subscription)
        connection.execute(FILL_SUBSCRIPTIONS, {"like": subscription, "of": others.id, "count": subscriptions})
        connection.execute("ANALYZE subscription")
        connection.execute("VACUUM subscription")
        published = ingest(connection, application, new_events(READY))
        assert published.rows_of("added") == READY
        assert not published.read_whole() & {"fifo_subscription_state", "request_attempt", "subscription"}
        pages[pending] = published.pages
    # What is inserted goes into the indexes of all that waits: they are a level deeper, and no more.
    assert pages[LARGE] <= pages[SMALL] + 5 * READY, pages


@pytest.mark.parametrize("types", [1, 500])
def test_a_batch_is_not_held_against_itself_to_find_what_was_sent_before(transactional_db, types):
    application = make_application()
    make_subscription(application)
    names = [make_event_type(application, f"shop.order.number_{number}").name for number in range(types)]
    sent = publish(application, 10, event_type=names[0])
    new = new_events(BATCH_EVENTS)
    for number, event in enumerate(new):
        event["event_type"] = names[number % types]
    for event, before in zip(new[::100], sent, strict=True):
        event["event_id"] = str(before.event_id)
    new[1]["event_type"] = "shop.nobody.knows"
    explained = ingest(django.connection, application, new)
    assert explained.rows_of("added") == BATCH_EVENTS - 11
    assert explained.compared_in_vain() <= 10 * BATCH_EVENTS


@pytest.mark.parametrize("analyzed", [False, True])
def test_a_batch_for_many_lanes_is_not_held_against_them_nor_each_event_against_all_subscriptions(
    transactional_db, analyzed
):
    application = make_application()
    fifo = make_fifo(application, fifo_key="ordering_key")
    for _ in range(20):
        make_subscription(application)
    if analyzed:  # a few large applications: an index on those is worth little to the planner
        others = {"like": fifo.id, "of": make_application().id, "count": 5_000}
        django.connection.execute(FILL_SUBSCRIPTIONS, others)
        django.connection.execute("ANALYZE subscription")
        django.connection.execute("ANALYZE subscription_state")
    explained = ingest(django.connection, application, new_events(BATCH_EVENTS))
    assert explained.rows_of("routed") == 21 * BATCH_EVENTS
    assert explained.compared_in_vain() <= 10 * BATCH_EVENTS
    looks = [node["Actual Loops"] for node in explained.nodes() if node.get("Relation Name") == "subscription"]
    assert looks
    assert max(looks) <= 21


def test_taking_from_a_subscription_without_order_does_not_walk_the_backlog(connection):
    subscription = make_subscription(make_application(), max_in_flight=1000).id
    pages = {}
    for pending in (SMALL, LARGE):
        fill(connection, FILL_LOOSE, pending=pending, subscription=subscription)
        take = explain(connection, "take_attempts", subscriptions=[subscription], rooms=[READY], now=None, margin=15.0)
        assert "request_attempt" not in take.read_whole()
        assert take.sorted_rows() == 0
        assert take.plan["Actual Rows"] == READY
        pages[pending] = take.pages
    # Here the rows that are leased lie in indexes that grow with the backlog: a level or two deeper, and no more.
    assert pages[LARGE] <= pages[SMALL] + 3 * READY, pages


def test_looking_for_what_is_due_next_does_not_walk_the_backlog(connection):
    subscription = make_subscription(make_application()).id
    pages = {}
    for pending in (SMALL, LARGE):
        fill(connection, FILL_LOOSE, pending=pending, subscription=subscription)
        settle = explain(
            connection, "settle_subscriptions", subscriptions=[subscription], rooms=[1], taken=[0], idle=["true"]
        )
        assert "request_attempt" not in settle.read_whole()
        pages[pending] = settle.pages
    assert pages[LARGE] <= pages[SMALL] + 10, pages  # three priorities, two more levels of the index at most


@pytest.mark.parametrize("name", ["reap_lanes", "reap_attempts"])
def test_the_reaper_looks_at_leases_alone(connection, name):
    application = make_application()
    fill(connection, FILL_LANES, pending=SMALL, subscription=make_fifo(application, fifo_key="ordering_key").id)
    reap = explain(connection, name, now=None)
    assert not reap.read_whole() & {"fifo_subscription_state", "request_attempt"}
    assert reap.pages <= POLL_PAGES


def test_recording_without_order_does_not_walk_what_is_in_flight(connection):
    subscription = make_subscription(make_application(), max_in_flight=1000).id
    pages = {}
    for in_flight in (READY, 20 * READY):
        fill(connection, FILL_LOOSE, pending=40 * READY, subscription=subscription)  # analysed with nothing in flight
        take = {"subscriptions": [subscription], "rooms": [in_flight], "now": None, "margin": 15.0}
        leased = connection.execute(statement("take_attempts"), take).fetchall()
        assert len(leased) == in_flight
        connection.execute("UPDATE subscription_state SET in_flight = %s", [in_flight])
        defer = {"subscription_id": str(subscription), "verdict": "defer", "wait": 1}
        results = [{**defer, "delivery_id": str(row[2]), "epoch": row[5]} for row in leased[:READY]]
        record = explain(connection, "record_loose", results=json.dumps(results))
        assert record.plan["Actual Rows"] == READY
        assert "attempt_leased" not in {node.get("Index Name") for node in record.nodes()}
        pages[in_flight] = record.pages
    assert pages[20 * READY] <= 1.2 * pages[READY], pages
