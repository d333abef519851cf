"""Every page comes, and asks the database no more than it may."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from delivery import attempts
from delivery.backlog import sample_backlog
from delivery.jobs import NewJob, Queue
from delivery.jobs.queues import create_queue
from delivery.models import BacklogSample, JobQueue, Lane, Phase, RequestAttempt, Tally
from events.admin import events
from events.models import BulkLoad
from hook0.desk.health import HEALTHS, health_of, of_health, with_health
from subscriptions.models import Subscription, SubscriptionState
from tenants import counts
from tests.admin.crowd import make_crowd
from tests.admin.walk import details, lists, verbs
from tests.factories import make_application, make_fifo, make_subscription, publish

MOST_QUERIES = 20


def get(client, address):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer = client.get(address, follow=True)
    assert answer.status_code == 200, (address, answer.status_code)
    asked = [each["sql"] for each in queries.captured_queries]
    assert len(asked) <= MOST_QUERIES, (address, len(asked), asked)
    return answer.content.decode()


def test_every_page_comes_with_few_queries(operator, scene):
    addresses = {"home": reverse("admin:index"), **lists()}
    one = details()
    assert len(one) >= 14
    for address in [*addresses.values(), *one.values(), *verbs().values()]:
        get(operator, address)


def test_a_page_that_is_full_asks_no_more_than_one_that_is_not(operator, application, pump, receiver):
    make_crowd(application, 26, pump, receiver)
    operator.get(reverse("admin:index") + f"?application={application.pk}")
    get(operator, reverse("admin:index"))
    full = set()
    for label, address in lists().items():
        get(operator, f"{address}?application={application.pk}")
        page = operator.get(address, follow=True).context
        rows = page["attempts"] if "attempts" in page else page["cl"].result_list
        full |= {label} if len(rows) >= 25 else set()
    assert lists().keys() - full == {"monitoring.Snapshot"}


def test_a_subscriptions_page_shows_its_lanes_and_leads_to_all_of_them(operator, application):
    busy, other = (make_fifo(application, fifo_key="ordering_key", description=name) for name in ("Busy", "Other"))
    for key in ("stuck", "moving"):
        publish(application, ordering_key=key)
    Lane.objects.filter(key="stuck").update(since=Now())
    Lane.objects.create(subscription=busy, key="empty")
    page = get(operator, reverse("admin:subscriptions_subscription_change", args=[busy.pk]))
    assert page.index("stuck (Waiting)") < page.index("moving (Waiting)")
    assert "empty (Empty)" not in page
    everything = get(operator, re.search(r'href="([^"]*)">All its lanes', page)[1])
    for key in ("stuck", "moving", "empty"):
        assert f"Busy · {key}" in everything
    assert str(other.pk) not in everything


def test_a_database_whose_clock_is_ahead_breaks_no_chart(operator, scene):
    ahead = datetime.now(UTC) + timedelta(minutes=20)
    for tally in Tally.objects.all():
        tally.slot = ahead
        tally.save(force_insert=True)
    assert Tally.objects.filter(slot=ahead).exists()
    for address in (reverse("admin:index"), reverse("admin:subscriptions_subscription_changelist")):
        get(operator, address)


@pytest.mark.parametrize(
    ("query", "shown", "hidden"),
    [
        ("error_name=E_HTTP&http_status=500", "E_HTTP 500", "successful</span>"),
        ("status=successful", "successful</span>", "E_HTTP 500"),
        ("event_type=billing.*", "successful</span>", "Nothing matches"),
        ("event_type=shipping.*", "Nothing matches", "successful</span>"),
        ("labels=shop:1,", "successful</span>", "Nothing matches"),
        ("labels=shop:1,region:eu", "Nothing matches", "successful</span>"),
        ("labels=shop", "key:value", "successful</span>"),
        ("http_status=many", "A valid integer is required", "successful</span>"),
        ("min_created_at=yesterday", "Datetime has wrong format", "successful</span>"),
    ],
)
def test_attempts_are_narrowed_as_the_api_narrows_them(operator, scene, query, shown, hidden):
    page = get(operator, f"{reverse('admin:delivery_attemptlog_changelist')}?{query}")
    assert shown in page
    assert hidden not in page


def test_home_draws_what_waited_how_old_it_was_and_how_many_succeeded(operator, scene):
    publish(scene, 2)
    sample_backlog()
    BacklogSample.objects.update(age_seconds=3 * 3600)
    page = get(operator, reverse("admin:index"))
    waiting = RequestAttempt.objects.count()
    for label in (
        f"Deliveries that wait, at most {waiting} deliveries",
        "The oldest that waits, at most 180 min",
        "Tries that succeeded, at most 100 %",
    ):
        assert f'aria-label="{label}"' in page


def test_subscriptions_are_listed_by_their_health_and_by_application(operator, application):
    """Whatever is shown of one is where it is listed, and nowhere else."""
    now = datetime.now(UTC)
    states: list[dict[str, Any]] = [
        {}, {"failures": 2}, {"failing_since": now}, {"failures": 12, "circuit_until": now + timedelta(hours=1)},
        {"failures": 12, "circuit_until": now - timedelta(hours=1)},
    ]  # fmt: skip
    switches: list[dict[str, Any]] = [
        {},
        {"is_paused": True},
        {"is_enabled": False},
        {"is_enabled": False, "is_paused": True},
    ]
    for number, (state, switch, blocks) in enumerate(product(states, switches, (False, True))):
        one = make_fifo(application, description=f"number {number}", **switch)
        SubscriptionState.objects.filter(pk=one.pk).update(**state)
        if blocks:
            Lane.objects.create(subscription=one, key="a", tail_seq=1, phase=Phase.BLOCKED, since=now)
    healths = {each.pk: health_of(each).name for each in with_health(Subscription.objects.all())}
    assert set(healths.values()) == set(HEALTHS)
    for name in HEALTHS:
        found = of_health(with_health(Subscription.objects.all()), name)
        assert {each.pk for each in found} == {pk for pk, health in healths.items() if health == name}
    other = make_subscription(make_application(), description="another")
    address = reverse("admin:subscriptions_subscription_changelist")
    assert "number 0<" in get(operator, f"{address}?health=ok")
    assert "number 0<" not in get(operator, f"{address}?health=paused")
    theirs = get(operator, f"{address}?application__id__exact={other.application_id}")
    assert "another<" in theirs
    assert "number 0<" not in theirs
    assert "another<" not in get(operator, f"{address}?application__id__exact=nonsense")


def test_what_no_index_has_is_sought_among_the_newest_and_further_back_page_by_page(operator, application, monkeypatch):
    monkeypatch.setattr(events, "LOOKED_AT", 4)
    monkeypatch.setattr(attempts, "LOOKED_AT", 4)
    make_subscription(application)
    publish(application, 2, labels={"shop": "1", "kind": "rare"})
    publish(application, 9)
    for page, query in {"events_event": "q=kind:rare", "delivery_attemptlog": "labels=kind:rare"}.items():
        address = f"{reverse(f'admin:{page}_changelist')}?{query}"
        shown = []
        while address:
            text = get(operator, address)
            shown.append("Nothing matches" not in text)
            onward = re.search(r'rel="next" href="([^"]*)"', text)
            address = f"{reverse(f'admin:{page}_changelist')}{unescape(onward[1])}" if onward else ""
            assert bool(address) == ("The next page looks at those before" in text)
        assert shown == [False, False, True], page


def test_the_counts_of_a_job_queue_end_somewhere(operator, application, monkeypatch):
    monkeypatch.setattr(counts, "MOST_COUNTED", 2)
    queue = create_queue(application.pk, "jobs")
    Queue(queue).enqueue_many([NewJob(str(number)) for number in range(3)])
    page = get(operator, reverse("admin:delivery_jobqueue_change", args=[queue.pk]))
    assert "2 or more" in page


def test_whatever_has_a_name_or_an_id_is_found_from_everywhere(operator, scene):
    known = {
        str(BulkLoad.objects.get().pk): "events/bulkload",
        str(JobQueue.objects.get().pk): "delivery/jobqueue",
        "jobs": "delivery/jobqueue",
        "blocks": "delivery/storedjob",
        "failed-payments/Sh": "events/undelivered",
        f"worker-{scene.pk}"[:50]: "subscriptions/worker",
    }
    for term, page in known.items():
        assert f"/admin/{page}/" in get(operator, f"{reverse('admin:search')}?extended=1&s={term}"), term


def test_a_list_of_nothing_says_what_to_do_next(operator, transactional_db):
    """In two sentences at least: how it is, and what then."""
    for label, address in lists().items():
        page = operator.get(address, follow=True).content.decode()
        said = re.search(r'class="nothing"[^ ]*>.*?<p>(.*?)</p>', page, re.DOTALL) or re.search(
            r'class="nothing-inline">(.*?)</p>', page
        )
        assert said, label
        is_narrowed = label == "delivery.RequestAttempt"  # the list of attempts, of those that are pending
        assert is_narrowed or re.search(r"[.:!?] [A-Z`d]", said[1]), (label, said[1])
