"""What `fan_out.sql` makes of events: who gets them, in which lane, under which number."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from delivery.models import Lane, Phase, RequestAttempt
from delivery.retry import DEFAULT
from events.ingest import ingest
from subscriptions.matching import matches
from tenants.ids import new_ids
from tests.factories import (
    EVENT_TYPE,
    make_application,
    make_event_type,
    make_fifo,
    make_subscription,
    new_event,
    publish,
)

pytestmark = pytest.mark.django_db


def wanted_by(subscription):
    return RequestAttempt.objects.filter(subscription=subscription).count()


@pytest.mark.parametrize(
    "wanted",
    [
        ["billing.invoice.paid"],
        ["billing.*"],
        ["billing.invoice.*"],
        ["billing.invoice.voided"],
        ["bill.*"],
        ["billing.invoice.paid.*"],
        ["invoice.*"],
        ["other.thing.done", "billing.*"],
    ],
)
def test_event_types_match_in_sql_as_they_do_in_python(wanted):
    application = make_application()
    subscription = make_subscription(application, event_types=wanted)
    publish(application)
    assert wanted_by(subscription) == int(matches(EVENT_TYPE, wanted))


def test_an_event_must_carry_all_labels_of_a_subscription_and_may_carry_more():
    application = make_application()
    all_of_them = make_subscription(application, labels={"shop": "1", "region": "eu"})
    one_of_them = make_subscription(application, labels={"shop": "1"})
    another_value = make_subscription(application, labels={"shop": "2"})
    publish(application, labels={"shop": "1"})
    publish(application, labels={"shop": "1", "region": "eu", "more": "x"})
    assert [wanted_by(each) for each in (all_of_them, one_of_them, another_value)] == [1, 2, 0]


def test_disabled_and_deleted_subscriptions_and_those_of_other_applications_get_nothing():
    application, stranger = make_application(), make_application()
    silent = [
        make_subscription(application, is_enabled=False),
        make_subscription(application, deleted_at=datetime.now(UTC)),
        make_subscription(stranger),
    ]
    publish(application)
    assert [wanted_by(each) for each in silent] == [0, 0, 0]


def test_a_lane_numbers_a_batch_in_the_order_of_the_batch():
    application = make_application()
    make_fifo(application)
    sent = [each.event_id for each in publish(application, 20) + publish(application, 5)]
    delivered = RequestAttempt.objects.order_by("lane_seq").values_list("lane_seq", "event__event_id")
    assert list(delivered) == list(enumerate(sent, start=1))


def test_an_empty_lane_becomes_ready_and_a_busy_one_stays_as_it_is():
    application = make_application()
    make_fifo(application)
    publish(application)
    lane = Lane.objects.get()
    assert (lane.phase, lane.head_seq, lane.tail_seq) == (Phase.WAITING, 1, 1)
    later = datetime.now(UTC) + timedelta(hours=1)
    Lane.objects.update(ready_at=later)
    publish(application)
    lane.refresh_from_db()
    assert (lane.phase, lane.tail_seq, lane.ready_at) == (Phase.WAITING, 2, later)


@pytest.mark.parametrize(
    ("fifo_key", "keys"),
    [
        (None, ["", "", "", ""]),
        (
            "event_type",
            ["billing.invoice.paid", "billing.invoice.paid", "billing.invoice.voided", "billing.invoice.paid"],
        ),
        ("ordering_key", ["a", "b", "a", ""]),
        ("label:customer", ["7", "8", "", "7"]),
    ],
)
def test_the_fifo_key_splits_the_order_into_lanes(fifo_key, keys):
    application = make_application()
    make_event_type(application, "billing.invoice.voided")
    make_fifo(application, fifo_key=fifo_key, event_types=["billing.*"])
    ingest(
        application.id,
        [
            new_event(ordering_key="a", labels={"shop": "1", "customer": "7"}),
            new_event(ordering_key="b", labels={"shop": "1", "customer": "8"}),
            new_event(ordering_key="a", event_type="billing.invoice.voided"),
            new_event(labels={"shop": "1", "customer": "7"}),
        ],
    )
    routed = RequestAttempt.objects.order_by("event_id").values_list("lane__key", "lane_seq")
    assert list(routed) == [(key, keys[: index + 1].count(key)) for index, key in enumerate(keys)]


def test_one_event_goes_to_every_subscription_that_wants_it():
    application = make_application()
    wanting = [make_fifo(application), make_fifo(application), make_subscription(application)]
    publish(application)
    assert [wanted_by(each) for each in wanting] == [1, 1, 1]


def test_the_same_event_id_is_delivered_once_even_within_a_batch():
    application = make_application()
    subscription = make_fifo(application)
    twice = new_event()
    fates = [each.fate.value for each in ingest(application.id, [twice, new_event(), twice])]
    assert fates == ["created", "created", "duplicate"]
    assert ingest(application.id, [twice])[0].fate.value == "duplicate"
    assert wanted_by(subscription) == 2


def test_what_is_not_stored_takes_nobodys_place():
    application = make_application()
    make_fifo(application)
    good, sent = new_event(), new_event()
    unknown = new_event(event_id=good.event_id, event_type="shop.nobody.knows")
    ingest(application.id, [sent])
    fates = [each.fate.value for each in ingest(application.id, [unknown, sent, good, unknown, good])]
    assert fates == ["unknown type", "duplicate", "created", "unknown type", "duplicate"]
    assert [each.fate.value for each in ingest(application.id, [unknown])] == ["unknown type"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("enforced", [False, True])
def test_an_id_that_we_draw_is_taken_as_new_and_drawn_again_if_somebody_sent_it_before(settings, monkeypatch, enforced):
    settings.QUOTAS_ENFORCED = enforced
    application = make_application()
    subscription = make_fifo(application)
    guessed = new_event()
    ingest(application.id, [guessed])
    drawn = [[uuid.uuid4(), guessed.event_id, uuid.uuid4()], new_ids(3)]
    monkeypatch.setattr("events.ingest.new_ids", lambda _: drawn.pop(0))
    ingested = ingest(application.id, [new_event(event_id=None) for _ in range(3)])
    assert drawn == []
    assert [each.fate.value for each in ingested] == ["created"] * 3
    in_order = RequestAttempt.objects.filter(subscription=subscription).order_by("lane_seq")
    ids = [guessed.event_id, *(each.event_id for each in ingested)]
    assert list(in_order.values_list("event__event_id", flat=True)) == ids


@pytest.mark.django_db(transaction=True)
def test_one_id_of_a_client_is_enough_to_look_for_all_that_were_sent_before():
    application = make_application()
    subscription = make_subscription(application)
    ours, theirs = new_event(event_id=None), new_event()
    fates = [each.fate.value for each in ingest(application.id, [ours, theirs, theirs])]
    assert fates == ["created", "created", "duplicate"]
    assert wanted_by(subscription) == 2


def test_another_application_may_use_the_same_event_id():
    same = new_event()
    assert [ingest(make_application().id, [same])[0].fate.value for _ in range(2)] == ["created", "created"]


def test_a_subscription_without_order_is_woken_for_the_earliest_delivery():
    application = make_application()
    subscription = make_subscription(application)
    later, sooner = (datetime.now(UTC) + timedelta(hours=hours) for hours in (2, 1))
    publish(application, deliver_at=later)
    subscription.state.refresh_from_db()
    assert subscription.state.ready_at == later
    publish(application, deliver_at=sooner)
    subscription.state.refresh_from_db()
    assert subscription.state.ready_at == sooner
    publish(application, deliver_at=later)
    subscription.state.refresh_from_db()
    assert subscription.state.ready_at == sooner


def test_a_saturated_subscription_is_left_to_the_end_of_a_request_in_flight():
    application = make_application()
    subscription = make_subscription(application, max_in_flight=1)
    type(subscription.state).objects.update(in_flight=1)
    publish(application)
    subscription.state.refresh_from_db()
    assert subscription.state.ready_at is None


def test_delivery_ids_are_of_version_7_and_leave_room_for_the_number_of_the_try():
    application = make_application()
    make_subscription(application)
    publish(application, 50)
    ids = list(RequestAttempt.objects.values_list("id", flat=True))
    assert len(set(ids)) == 50
    assert {each.version for each in ids} == {7}
    assert {each.variant for each in ids} == {uuid.RFC_4122}
    assert {each.int & 0xFFFF for each in ids} == {0}
    assert DEFAULT.max_tries < 0xFFFF
