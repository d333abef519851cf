"""What is kept under keys, as operators find it."""

import re

import pytest
from django.urls import reverse

from delivery.finish import Report, finish
from delivery.models import AttemptLog
from delivery.pull import Wanted, poll
from events.announcements import announce
from events.models import Event, Undelivered
from tests.factories import make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "admin:events_undelivered_changelist"
KEYS = [["failed", "order-1"], ["failed", "order-1", "again"], ["failed", "order-2"], ["failed/late", "é"], ["Z"]]


@pytest.fixture
def failing(application):
    """A subscription to which an event was given up that names some keys."""
    subscription = make_subscription(
        application, description="Orders", target_type="pull", url="", retry_policy={"schedule_ms": []}
    )
    publish(application, payload=b"<b>no</b>", payload_content_type="text/plain", keys_if_undelivered=KEYS)
    pulled = poll(subscription, most=1, wanted=Wanted())
    finish(subscription, [Report(each.receipt, "no") for each in pulled], by="me")
    announce()
    return subscription


@pytest.fixture
def listed(operator, application):
    """The keys on a page of the list."""

    def listed(**query):
        answer = operator.get(reverse(LIST), {"application": application.pk, **query})
        assert answer.status_code == 200, answer
        return [each.path for each in answer.context["cl"].result_list]

    return listed


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("", [KEYS[4], *KEYS[:4]]),
        ("failed", KEYS[:4]),
        ("failed/", KEYS[:3]),
        ("failed/order-1", KEYS[:2]),
        ("failed/order-1/", KEYS[1:2]),
        ("order-1", []),
        ("failed/late", []),
        ('["failed/late"]', KEYS[3:4]),
        ('["failed/late", "é"]', KEYS[3:4]),
        ("[1]", []),
        ("[" * 5000, []),
        ("z", []),
    ],
)
def test_keys_are_found_by_how_they_begin(listed, term, found):
    assert listed(q=term) == found


def test_lists_go_on_in_pages(application, failing, operator, listed):
    for number in range(30):
        kept = Undelivered.objects.first()
        kept.pk, kept.path = None, ["many", f"{number:02}"]
        kept.save(force_insert=True)
    page = operator.get(reverse(LIST), {"application": application.pk, "q": "many"}).context["cl"]
    assert [each.path[1] for each in page.result_list] == [f"{number:02}" for number in range(25)]
    rest = operator.get(reverse(LIST) + page.next_address).context["cl"]
    assert [each.path[1] for each in rest.result_list] == [f"{number:02}" for number in range(25, 30)]
    assert rest.next_address == ""


def test_one_leads_to_its_event_its_subscription_and_its_tries(operator, failing):
    kept = Undelivered.objects.get(path=KEYS[0])
    address = reverse("admin:events_undelivered_change", args=[kept.pk])
    page = operator.get(address).content.decode()
    assert "failed/order-1" in page
    assert "&lt;b&gt;no&lt;/b&gt;" in page
    leads_to = set(re.findall(r'href="([^"]+)"', page))
    assert reverse("admin:subscriptions_subscription_change", args=[failing.pk]) in leads_to
    event = reverse("admin:events_event_change", args=[kept.event_id]) + f"?application={kept.application_id}"
    assert event in leads_to
    assert operator.get(event, follow=True).status_code == 200
    attempt = reverse("admin:delivery_attemptlog_change", args=[AttemptLog.objects.get(subscription=failing).pk])
    assert attempt in leads_to
    assert operator.get(attempt).status_code == 200
    Event.objects.all().delete()
    assert "past retention" in operator.get(address).content.decode()


def test_it_can_be_looked_at_and_nothing_else(operator, failing):
    address = reverse("admin:events_undelivered_change", args=[Undelivered.objects.first().pk])
    assert operator.post(address, {"path": "x"}).status_code == 403
    assert operator.post(address.replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403
    assert operator.get(f"{reverse(LIST)}add/").status_code == 403
    assert Undelivered.objects.count() == len(KEYS)
