"""Dedicated workers: who claims what, and what moves when that changes."""

import uuid

import pytest
from django.core.management import CommandError, call_command
from rest_framework.exceptions import ValidationError

from delivery import reconfigure
from delivery.audit import Operator
from delivery.models import Lane, RequestAttempt
from delivery.queue import Queue
from subscriptions.models import OrganizationWorker, SubscriptionState, Worker
from tests.factories import make_application, make_event_type, make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

BY = Operator("tester")
EVERYBODY = None


@pytest.fixture
def serve(open_connection):
    """What the worker of a name claims, as the ids of the subscriptions."""

    def serve(name: str | None) -> set[uuid.UUID]:
        queue = Queue(open_connection, lease_margin=15.0, process="test", worker=name)
        return {claimed.subscription_id for claimed in queue.claim(100)}

    return serve


@pytest.fixture
def private():
    return Worker.objects.create(name="private")


@pytest.fixture
def public():
    return Worker.objects.create(name="public", is_public=True)


@pytest.fixture(params=[make_subscription, make_fifo], ids=["loose", "fifo"])
def make(request):
    return request.param


def test_who_has_no_name_serves_what_asks_for_nobody_and_no_more(serve, application, private, make):
    plain = make(application)
    make(application, dedicated_workers=[private])
    publish(application)
    assert serve(EVERYBODY) == {plain.id}


def test_a_private_worker_serves_what_is_dedicated_to_it_and_no_more(serve, application, private, public, make):
    make(application)
    make(application, dedicated_workers=[public])
    mine = make(application, dedicated_workers=[private])
    publish(application)
    assert serve("private") == {mine.id}


def test_a_public_worker_serves_what_is_dedicated_to_it_and_what_asks_for_nobody(
    serve, application, private, public, make
):
    plain = make(application)
    mine = make(application, dedicated_workers=[public])
    make(application, dedicated_workers=[private])
    publish(application)
    assert serve("public") == {plain.id, mine.id}


def test_each_of_several_dedicated_workers_may_serve(serve, application, private, public):
    shared = make_subscription(application, dedicated_workers=[private, public])
    for name in ("private", "public"):
        publish(application)
        assert serve(name) == {shared.id}
    publish(application)
    assert serve(EVERYBODY) == set()


def test_the_default_of_the_organization_serves_what_names_no_worker(serve, application, private, public, make):
    OrganizationWorker.objects.create(organization=application.organization, worker=private, is_default=True)
    plain = make(application)
    make(application, dedicated_workers=[public])
    publish(application)
    assert serve(EVERYBODY) == set()
    assert serve("private") == {plain.id}


def test_a_new_default_takes_what_waits_with_it(serve, application, private, make):
    plain = make(application)
    publish(application)
    assert reconfigure.choose_default_worker(application.organization_id, private, by=BY) == 1
    assert serve(EVERYBODY) == set()
    assert serve("private") == {plain.id}


def test_without_a_default_everybody_serves_again(serve, application, private, make):
    plain = make(application)
    reconfigure.choose_default_worker(application.organization_id, private, by=BY)
    publish(application)
    reconfigure.choose_default_worker(application.organization_id, None, by=BY)
    assert serve("private") == set()
    assert serve(EVERYBODY) == {plain.id}


def test_a_default_leaves_other_organizations_and_dedicated_subscriptions_alone(application, private, public, make):
    dedicated = make(application, dedicated_workers=[public])
    elsewhere = make(make_application())
    before = dict(SubscriptionState.objects.values_list("subscription_id", "pool"))
    assert reconfigure.choose_default_worker(application.organization_id, private, by=BY) == 0
    assert dict(SubscriptionState.objects.values_list("subscription_id", "pool")) == before
    assert {dedicated.id, elsewhere.id} == set(before)


def test_what_waits_follows_to_the_workers_that_are_assigned(serve, application, private, make):
    subscription = make(application)
    publish(application, 2)
    reconfigure.edit(subscription.id, {"dedicated_workers": [private]}, by=BY)
    assert serve(EVERYBODY) == set()
    assert serve("private") == {subscription.id}
    reconfigure.edit(subscription.id, {"dedicated_workers": []}, by=BY)
    publish(application)
    assert serve("private") == set()


def test_lanes_that_are_made_later_go_to_the_same_pool(serve, application, private):
    subscription = make_fifo(application, fifo_key="event_type", dedicated_workers=[private])
    publish(application)
    make_event_type(application, "billing.invoice.sent")
    pools = set(Lane.objects.filter(subscription=subscription).values_list("pool", flat=True))
    assert pools == {subscription.state.pool}
    assert serve("private") == {subscription.id}


def test_both_changes_of_the_mode_stay_with_the_workers(serve, application, private):
    subscription = make_subscription(application, dedicated_workers=[private])
    publish(application)
    reconfigure.edit(subscription.id, {"fifo_mode": True, "fifo_key": None}, by=BY)
    assert Lane.objects.get().pool == subscription.state.pool
    reconfigure.edit(subscription.id, {"fifo_mode": False, "fifo_key": None}, by=BY)
    assert serve(EVERYBODY) == set()
    assert serve("private") == {subscription.id}


def test_fifo_with_several_dedicated_workers_is_refused_and_changes_nothing(application, private, public):
    with pytest.raises(ValidationError, match="one dedicated worker"):
        make_fifo(application, dedicated_workers=[private, public])
    fifo = make_fifo(application, dedicated_workers=[private])
    with pytest.raises(ValidationError, match="one dedicated worker"):
        reconfigure.edit(fifo.id, {"dedicated_workers": [private, public]}, by=BY)
    assert list(fifo.dedicated_workers.all()) == [private]
    loose = make_subscription(application, dedicated_workers=[private, public])
    publish(application)
    with pytest.raises(ValidationError, match="one dedicated worker"):
        reconfigure.edit(loose.id, {"fifo_mode": True, "fifo_key": None}, by=BY)
    assert RequestAttempt.objects.filter(subscription=loose, lane=None).count() == 1


def test_workers_of_the_same_set_share_a_pool(application, private, public):
    first = make_subscription(application, dedicated_workers=[private, public])
    second = make_subscription(application, dedicated_workers=[public, private])
    assert first.state.pool == second.state.pool != 0


def test_a_worker_that_nobody_knows_is_refused_with_the_names_that_are_known(private):
    with pytest.raises(CommandError, match=r"no worker 'nobody'.*There is: private"):
        call_command("deliver", "--once", "--worker", "nobody")
