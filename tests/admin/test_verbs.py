"""What operators do on the pages of applications, subscriptions and bulk loads, and what comes of it."""

import pytest
from django.urls import reverse

from delivery.models import Lane, OperatorAction, RequestAttempt
from events.models import BulkLoad, Replay
from subscriptions.models import Subscription
from tests.factories import make_fifo, make_subscription, publish

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
