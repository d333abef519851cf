"""How many deliveries there are, by subscription and by labels."""

import pytest

from delivery.finish import Report, finish
from delivery.pull import Wanted, poll
from delivery.statistics import count_deliveries
from tests.clients import problem
from tests.factories import make_application, make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)

PULL = {"target_type": "pull", "url": "", "max_in_flight": 1_000}


@pytest.mark.parametrize("make", [make_subscription, make_fifo], ids=["loose", "fifo"])
def test_each_delivery_counts_where_it_stands(application, make):
    split = {"fifo_key": "ordering_key"} if make is make_fifo else {}
    subscription = make(application, **PULL, **split, retry_policy={"schedule_ms": [60_000]})
    for number in range(7):
        publish(application, ordering_key=str(number))
    pulled = poll(subscription, most=4, wanted=Wanted())
    finish(subscription, [Report(pulled[0].receipt)], by="tester")
    finish(subscription, [Report(pulled[1].receipt, "no")], by="tester")
    (counts,) = count_deliveries(application.id)
    assert (counts.pending, counts.running, counts.dead, counts.total, counts.retries) == (4, 2, 0, 6, 0)


def reject(subscription):
    (pulled,) = poll(subscription, most=1, wanted=Wanted())
    finish(subscription, [Report(pulled.receipt, "no")], by="tester")


@pytest.mark.parametrize("make", [make_subscription, make_fifo], ids=["loose", "fifo"])
def test_what_was_given_up_and_what_was_tried_again_counts(application, make):
    subscription = make(application, **PULL, retry_policy={"schedule_ms": [0, 0]})
    publish(application)
    for _ in range(3):
        reject(subscription)
    publish(application)
    for _ in range(2):
        reject(subscription)
    poll(subscription, most=1, wanted=Wanted())
    (counts,) = count_deliveries(application.id)
    assert (counts.pending, counts.running, counts.dead, counts.total, counts.retries) == (0, 1, 1, 2, 4)


def test_they_are_asked_for_by_subscription_and_by_all_of_some_labels(application, api):
    first, second = make_subscription(application, **PULL), make_fifo(application, **PULL)
    publish(application, 3, labels={"shop": "1", "region": "eu"})
    publish(application, 2, labels={"shop": "1", "region": "us"})

    def pending(**query):
        answer = api.get("/deliveries/stats/", application_id=application.id, **query)
        assert answer.status_code == 200, answer.content
        return {each["subscription_id"]: each["pending"] for each in answer.json()}

    assert pending() == {str(first.pk): 5, str(second.pk): 5}
    assert pending(subscription_id=first.pk) == {str(first.pk): 5}
    assert pending(labels=["region:eu"]) == {str(first.pk): 3, str(second.pk): 3}
    assert pending(labels=["region:eu", "shop:2"]) == {str(first.pk): 0, str(second.pk): 0}


def test_others_and_nonsense_are_refused(application, api):
    problem(api.get("/deliveries/stats/", application_id=make_application().id), 403, "Forbidden")
    problem(api.get("/deliveries/stats/", application_id=application.id, labels="x"), 422, "Validation")
    theirs = make_subscription(make_application(), **PULL)
    assert api.get("/deliveries/stats/", application_id=application.id, subscription_id=theirs.pk).json() == []
