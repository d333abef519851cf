"""What operators do on the pages of applications, subscriptions and bulk loads, and what comes of it."""

from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from delivery.jobs import NewJob, Queue
from delivery.models import JobQueue, Lane, OperatorAction, RequestAttempt
from events.models import BulkLoad, Replay
from subscriptions.models import Subscription
from tenants.models import EventType
from tests.admin.test_permissions import FIELDS
from tests.admin.walk import name_of, ours
from tests.factories import EVENT_TYPE, make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def say(operator):
    """Say a verb of a row, as its form sends it; what one reads on the page that follows."""

    def say(row, verb, **fields):
        name = f"admin:{row._meta.app_label}_{row._meta.model_name}_verb"
        answer = operator.post(reverse(name, args=[row.pk, verb]), fields, follow=True)
        assert answer.status_code == 200
        return answer.content.decode()

    return say


def test_an_application_goes_with_what_waits_for_its_subscriptions(say, operator, application):
    subscription = make_subscription(application)
    publish(application, 3)
    assert "It is gone, with its subscriptions and 3 deliveries" in say(application, "delete", reason="they left us")
    application.refresh_from_db()
    subscription.refresh_from_db()
    assert application.deleted_at
    assert subscription.deleted_at
    assert not RequestAttempt.objects.exists()
    assert str(application.pk) not in operator.get(reverse("admin:tenants_application_changelist")).content.decode()


def test_nothing_is_deleted_without_a_reason(say, application):
    assert "This field is required" in say(application, "delete")
    application.refresh_from_db()
    assert application.deleted_at is None


def test_the_events_of_an_application_are_replayed_to_all_its_subscriptions(say, application):
    make_subscription(application)
    assert "The replay begins" in say(application, "replay", since="24", status="all", reason="a bug in the shop")
    replay = Replay.objects.get()
    assert (replay.application_id, replay.subscription_id, replay.only_failed) == (application.pk, None, False)
    assert OperatorAction.objects.get().reason == "a bug in the shop"


def test_a_bulk_load_gets_another_rate_and_back_its_own_pace(say, application):
    load = BulkLoad.objects.create(application=application, state="ready")
    say(load, "rate", per_second="250")
    assert BulkLoad.objects.get().per_second == 250
    say(load, "rate", per_second="")
    assert BulkLoad.objects.get().per_second is None
    assert "greater than or equal to 1" in say(load, "rate", per_second="0")


@pytest.mark.parametrize("pending", [True, False])
def test_a_bulk_load_is_cancelled_with_what_is_pending_of_it_or_without(say, application, pending):
    load = BulkLoad.objects.create(application=application, state="releasing")
    told = say(load, "cancel", reason="the wrong file", **({"pending": "on"} if pending else {}))
    assert ("Those that are made stay" in told) is not pending
    load.refresh_from_db()
    assert (load.state, load.calls_off) == ("cancelled", pending)


def as_sent(form) -> dict[str, object]:
    """What a browser would send of a form that nobody has changed."""
    values = {field.name: field.value() for field in form}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def test_fifo_is_switched_off_over_waiting_deliveries_only_by_who_says_so(operator, application):
    subscription = make_fifo(application, event_types=["billing.*"])
    publish(application, 2)
    address = reverse("admin:subscriptions_subscription_change", args=[subscription.pk])
    form = as_sent(operator.get(address).context["adminform"].form)
    form.pop("fifo_mode")
    assert "2 deliveries wait in order" in operator.post(address, form).content.decode()
    assert Subscription.objects.get().fifo_mode
    answer = operator.post(address, {**form, "gives_up_order": "on"})
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    assert not Subscription.objects.get().fifo_mode
    assert not Lane.objects.exists()
    assert RequestAttempt.objects.filter(lane=None).count() == 2


def add_what_is_offered_more(application) -> None:
    """Rows for the verbs that are offered for none of the scene's."""
    make_subscription(application, is_paused=True)
    make_subscription(application, is_enabled=False)
    make_fifo(application)
    publish(application, 3)
    for state in ("releasing", "paused"):
        BulkLoad.objects.create(application=application, state=state)
    EventType.objects.create(application=application, service="a", resource_type="b", verb="c", deactivated_at=Now())
    Queue(JobQueue.objects.get()).enqueue(NewJob("waits", key="b"))


def say_in_vain(client, page, row, verb) -> list[OperatorAction]:
    """What of a verb goes on the record; the next one finds all as it was."""
    known = set(OperatorAction.objects.values_list("id", flat=True))
    test_case: Any = transaction.atomic()
    test_case._from_testcase = True  # within it, transactions may say that they are durable
    with test_case:
        client.post(reverse(f"{name_of(page)}_verb", args=[row.pk, verb.name]), {**FIELDS, "per_second": "7"})
        said = list(OperatorAction.objects.exclude(id__in=known))
        transaction.set_rollback(True)
    return said


def test_every_verb_goes_on_the_record_with_who_said_it_and_why(operator, scene):
    add_what_is_offered_more(scene)
    for page in ours():
        rows = list(page.model._default_manager.order_by("-pk"))
        for verb in page.verbs:
            all_said = (say_in_vain(operator, page, row, verb) for row in rows if verb.offered(row))
            said = next(filter(None, all_said), None)  # some rows are in no state for it
            assert said, (page, verb.name)
            reason = "because" if "reason" in verb.form.base_fields else ""
            assert {(each.actor, each.reason) for each in said} == {("olga", reason)}, (page, verb.name)


ADDED = {
    "tenants.organization": ({"name": "Another"}, "create_organization"),
    "tenants.application": ({"name": "Another"}, "create_application"),
    "tenants.eventtype": ({"service": "a", "resource_type": "b", "verb": "c"}, "activate_event_type"),
    "subscriptions.worker": ({"name": "another"}, "create_worker"),
    "subscriptions.subscription": ({"event_types": EVENT_TYPE, "labels": "a: b"}, "create_subscription"),
}


@pytest.mark.parametrize("label", ADDED)
def test_what_is_added_goes_on_the_record(operator, application, label):
    given, action = ADDED[label]
    address = reverse(f"admin:{label.replace('.', '_')}_add")
    form = as_sent(operator.get(address).context["adminform"].form)
    ours = {"organization": application.organization_id, "application": application.pk, "url": "http://127.0.0.1:1/"}
    answer = operator.post(address, {**form, **ours, **given})
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    said = OperatorAction.objects.get()
    assert (said.actor, said.action) == ("olga", action)


def test_another_name_of_an_application_goes_on_the_record(operator, application):
    address = reverse("admin:tenants_application_change", args=[application.pk])
    assert operator.post(address, {"name": "Another"}).status_code == 302
    said = OperatorAction.objects.get()
    assert (said.actor, said.action, said.details) == ("olga", "rename_application", {"name": "Another"})
