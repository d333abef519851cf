"""What pumps and the API count, against what they did."""

import os
import subprocess
import sys
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import Count
from django.test import Client
from prometheus_client import REGISTRY, CollectorRegistry, Histogram

from delivery import maintenance
from delivery.audit import Operator
from delivery.finish import Report, finish
from delivery.models import AttemptLog
from delivery.outcome import ERRORS
from delivery.pull import Wanted, poll
from delivery.pump import Pump
from events.replay import replay
from hook0.receiver import Behaviour
from monitoring.histograms import observe_all
from monitoring.own_series import OTHER, OwnSeries
from subscriptions.models import Subscription
from tests.clients import as_application
from tests.factories import EVENT_TYPE, make_fifo, make_subscription, publish


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.fixture
def since():
    """How much a counter has gained since the test began."""
    began: dict[tuple, float] = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
    }
    return lambda name, **labels: value(name, **labels) - began.get((name, tuple(sorted(labels.items()))), 0.0)


@pytest.mark.django_db(transaction=True)
def test_tries_are_counted_by_what_became_of_them_as_the_log_has_them(since, application, pump, receiver):
    make_subscription(application, url=f"http://127.0.0.1:{receiver.port}/")
    make_fifo(application, url="http://127.0.0.1:9/", retry_policy={"schedule_ms": []})
    publish(application, 3)
    pump.run()
    logged = {each["error_name"]: each["n"] for each in AttemptLog.objects.values("error_name").annotate(n=Count("id"))}
    assert logged == {None: 3, "E_CONNECTION": 3}
    assert since("hook0_delivery_tries_total", verdict="done", error="none", order="none", target="http") == 3
    assert since("hook0_delivery_tries_total", verdict="dead", error="E_CONNECTION", order="fifo", target="http") == 3
    assert since("hook0_delivery_duration_seconds_count", order="none", target="http", origin="live") == 3
    assert since("hook0_delivery_duration_seconds_count", order="fifo", target="http", origin="live") == 0
    assert since("hook0_queue_duration_seconds_count", order="none") == 3
    assert since("hook0_queue_duration_seconds_count", order="fifo") == 1  # a visit
    assert since("hook0_request_duration_seconds_count") == 6
    assert since("hook0_record_batch_size_sum") == 6
    assert since("hook0_record_duration_seconds_count") == since("hook0_record_batch_size_count") > 0
    assert since("fifo_subscription_blocked_duration_seconds_count", subscription_id=OTHER) == 3


def test_tries_that_fail_are_there_before_the_first_of_them():
    """A burst that makes its series would be no increase to Prometheus."""
    program = (
        "import django; django.setup()\n"
        "from prometheus_client import REGISTRY, generate_latest\n"
        "print(generate_latest(REGISTRY).decode())"
    )
    environment = {name: text for name, text in os.environ.items() if name != "PROMETHEUS_MULTIPROC_DIR"}
    told = subprocess.run(
        [sys.executable, "-c", program],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [line for line in told.splitlines() if line.startswith("hook0_delivery_tries_total{")]
    assert {line.rpartition(" ")[2] for line in lines} == {"0.0"}
    for error in ERRORS:
        for order in ("fifo", "none"):
            wanted = {'verdict="dead"', f'error="{error}"', f'order="{order}"', 'target="http"'}
            assert any(all(label in line for label in wanted) for line in lines), wanted


@pytest.mark.django_db(transaction=True)
def test_a_webhook_that_waited_for_its_turn_is_counted_for_its_subscription(
    since, application, queue, sender, receiver
):
    """The head fails once: what is behind it waits for the retry."""
    receiver.behaviours["/waits"] = Behaviour(status=500, times=1)
    subscription = make_fifo(
        application, url=f"http://127.0.0.1:{receiver.port}/waits", retry_policy={"schedule_ms": [1200]}
    )
    publish(application, 2)
    Pump(queue, sender, window=50, linger=3.0, dice=lambda: 0.0).run()
    assert [each.answered for each in receiver.received] == [500, 200, 200]
    waits = {"subscription_id": str(subscription.id)}
    assert since("fifo_subscription_blocked_duration_seconds_count", **waits) == 1
    assert 1.2 <= since("fifo_subscription_blocked_duration_seconds_sum", **waits) < 60
    assert since("hook0_deliveries_claimed_total") >= 2
    assert since("hook0_claim_duration_seconds_count") > since("hook0_deliveries_claimed_total")  # most looks are idle


@pytest.mark.django_db(transaction=True)
def test_leases_that_expired_are_counted(since, application, queue):
    make_subscription(application)
    publish(application, 4)
    queue.claim(10)
    assert maintenance.reap(now=datetime.now(UTC) + timedelta(hours=1)) == 4
    assert since("hook0_leases_expired_total", holder="pump") == 4
    assert since("hook0_leases_expired_total", holder="consumer") == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("make", "order"), [(make_subscription, "none"), (make_fifo, "fifo")])
def test_what_consumers_make_of_deliveries_is_counted_apart_from_webhooks(since, application, make, order):
    """Each is fetched twice: the first is rejected and comes again; then it is acknowledged, or its lease ends."""
    subscription = make(
        application, target_type="pull", url="", fifo_key=None if order == "none" else "ordering_key",
        retry_policy={"schedule_ms": [0] * 9},
    )  # fmt: skip
    for key in "ab":
        publish(application, ordering_key=key)

    def ask():
        return poll(Subscription.objects.get(pk=subscription.pk), most=10, wanted=Wanted())

    def end(pulled, error=None):
        return finish(subscription, [Report(each.receipt, error) for each in pulled], by="tester")

    def ended(verdict, error):
        return since("hook0_delivery_tries_total", verdict=verdict, error=error, order=order, target="pull")

    first = ask()
    assert len(end(first, "cannot")) == 2
    assert end(first, "cannot") == set()  # who says it again is not counted again
    acknowledged, lost = ask()
    assert len(end([acknowledged])) == 1
    assert maintenance.reap(now=datetime.now(UTC) + timedelta(hours=1)) == 1
    assert end([lost]) == set()
    assert (ended("retry", "E_REJECTED"), ended("done", "none")) == (2, 1)
    assert since("hook0_delivery_duration_seconds_count", order=order, target="pull", origin="live") == 1
    assert since("hook0_leases_expired_total", holder="consumer") == 1
    assert since("hook0_leases_expired_total", holder="pump") == 0
    assert since("hook0_queue_duration_seconds_count", order=order) == 0  # when they ask is up to them


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("make", "order"), [(make_subscription, "none"), (make_fifo, "fifo")])
def test_an_acknowledgement_of_a_consumer_ends_when_it_comes(since, application, make, order):
    subscription = make(application, target_type="pull", url="", lease_seconds=3600)
    publish(application)
    (pulled,) = poll(Subscription.objects.get(pk=subscription.pk), most=1, wanted=Wanted())
    with connection.cursor() as cursor:  # as if it had been at it for 20 minutes
        cursor.execute("UPDATE event SET received_at = received_at - interval '20 min'")
        cursor.execute("UPDATE request_attempt SET created_at = created_at - interval '20 min'")
    receipt = replace(pulled.receipt, leased_at=pulled.receipt.leased_at - timedelta(minutes=20))
    assert finish(subscription, [Report(receipt)], by="tester") == {receipt}
    took = since("hook0_delivery_duration_seconds_sum", order=order, target="pull", origin="live")
    assert took == pytest.approx(1200, abs=30)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("make", "order"), [(make_subscription, "none"), (make_fifo, "fifo")])
def test_how_late_webhooks_are_is_about_events_as_they_come(since, application, pump, receiver, make, order):
    make(application, url=f"http://127.0.0.1:{receiver.port}/")
    (event,) = publish(application)
    pump.run()
    labels = {"order": order, "target": "http"}
    with connection.cursor() as cursor:
        cursor.execute("UPDATE event SET received_at = received_at - interval '1 day'")
    replay(application.id, event.event_id, by=Operator("tester"))
    pump.run()
    assert since("hook0_delivery_duration_seconds_count", **labels, origin="live") == 1
    assert since("hook0_delivery_duration_seconds_sum", **labels, origin="live") < 60
    assert since("hook0_delivery_duration_seconds_sum", **labels, origin="later") == pytest.approx(86_400, abs=60)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("make", "order"), [(make_subscription, "none"), (make_fifo, "fifo")])
def test_a_delay_that_was_asked_for_is_no_lateness(since, application, pump, receiver, make, order):
    make(application, url=f"http://127.0.0.1:{receiver.port}/")
    publish(application, deliver_at=datetime.now(UTC) + timedelta(hours=2))
    with connection.cursor() as cursor:  # the two hours pass
        for table, columns in {
            "event": ("received_at", "deliver_at"),
            "request_attempt": ("created_at", "due_at"),
            "subscription_state": ("ready_at",),
            "fifo_subscription_state": ("ready_at",),
        }.items():
            earlier = ", ".join(f"{column} = {column} - interval '2 hours'" for column in columns)
            cursor.execute(f"UPDATE {table} SET {earlier}")
    pump.run()
    assert len(receiver.received) == 1
    assert since("hook0_delivery_duration_seconds_count", order=order, target="http", origin="live") == 1
    assert since("hook0_delivery_duration_seconds_sum", order=order, target="http", origin="live") < 60
    if order == "fifo":
        assert since("fifo_subscription_blocked_duration_seconds_sum", subscription_id=OTHER) < 60


@pytest.mark.django_db(transaction=True)
def test_events_are_counted_by_the_way_they_came(since, application):
    api = as_application(application)
    event = {
        "application_id": application.id,
        "event_id": str(uuid.uuid4()),
        "event_type": EVENT_TYPE,
        "payload": "x",
        "payload_content_type": "text/plain",
        "occurred_at": "2026-01-01T00:00:00Z",
        "labels": {"shop": "1"},
    }
    assert api.post("/event/", event).status_code == 201
    assert api.post("/event/", event).status_code == 409
    batch = [{**event, "event_id": None}, {**event, "event_id": None}, event, {}]
    assert api.post("/events/", {"application_id": application.id, "events": batch}).status_code == 200
    assert since("hook0_events_ingested_total", route="single") == 1
    assert since("hook0_events_ingested_total", route="batch") == 2
    assert since("hook0_events_refused_total", route="single", reason="duplicate") == 1
    assert since("hook0_events_refused_total", route="batch", reason="duplicate") == 1
    assert since("hook0_events_refused_total", route="batch", reason="invalid") == 1


@pytest.mark.django_db
def test_requests_are_counted_by_route_and_not_by_address(since, application):
    api = as_application(application)
    for _ in range(3):
        api.get(f"/events/{uuid.uuid4()}/", application_id=application.id)
    api.get(f"/{uuid.uuid4()}/")
    Client().generic("BREW", "/api/v1/event/")
    name = "hook0_api_request_duration_seconds_count"
    assert since(name, method="GET", route="/api/v1/events/<uuid:event_id>/", status="4xx") == 3
    assert since(name, method="GET", route="other", status="4xx") == 1
    assert since(name, method="other", route="/api/v1/event/", status="4xx") == 1


def test_to_observe_all_is_to_observe_each():
    registry, amounts = CollectorRegistry(), [0.0, 0.5, 1.0, 1.5, 10.0, 99.0, 0.5]
    one, all_ = (Histogram(name, "Seconds.", buckets=(0.5, 1, 10), registry=registry) for name in ("one", "all"))
    for amount in amounts:
        one.observe(amount)
    observe_all(all_, amounts)
    observe_all(all_, [])
    values = [{s.name.split("_")[1] + str(s.labels): s.value for s in family.samples if "created" not in s.name}
              for family in registry.collect()]  # fmt: skip
    assert values[0] == values[1]


def test_only_so_many_subscriptions_have_series_of_their_own_and_processes_agree_on_them(tmp_path):
    one, another = (OwnSeries(str(tmp_path), most=2) for _ in range(2))
    a, b, c = (uuid.uuid4() for _ in range(3))
    assert one.label(a, worth_one=False) == OTHER
    assert one.label(a, worth_one=True) == str(a)
    assert one.label(a, worth_one=False) == str(a)
    assert another.label(b, worth_one=True) == str(b)
    assert one.label(c, worth_one=True) == OTHER
    assert one.label(b, worth_one=True) == str(b)
    assert another.label(c, worth_one=True) == OTHER
    assert OwnSeries(str(tmp_path), most=2).label(c, worth_one=True) == OTHER


def test_without_a_folder_a_process_chooses_for_itself():
    alone = OwnSeries("", most=1)
    a = uuid.uuid4()
    assert alone.label(a, worth_one=True) == str(a)
    assert alone.label(uuid.uuid4(), worth_one=True) == OTHER
