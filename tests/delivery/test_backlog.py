"""What waited, in slots of ten minutes."""

from datetime import UTC, datetime, timedelta

import pytest

from delivery import backlog
from delivery.backlog import sample_backlog
from delivery.models import BacklogSample, RequestAttempt
from delivery.tallies import KEPT, SLOT, slot_of
from tests.factories import make_fifo, make_subscription, publish

pytestmark = pytest.mark.django_db(transaction=True)


def samples():
    return {each.subscription_id: each.amount for each in BacklogSample.objects.all()}


def test_what_waits_is_sampled_once_in_a_slot_and_forgotten_when_it_is_old(application):
    loose, lane = make_subscription(application), make_fifo(application)
    publish(application, 3)
    now = slot_of(datetime.now(UTC))
    sample_backlog(now=now)
    publish(application)
    sample_backlog(now=now)
    assert samples() == {loose.pk: 3, lane.pk: 3}
    sample_backlog(now=now + SLOT)
    assert {each.amount for each in BacklogSample.objects.filter(slot=now + SLOT)} == {4}
    sample_backlog(now=now + KEPT + SLOT)
    assert not BacklogSample.objects.filter(slot=now).exists()


def test_a_sample_says_how_old_the_oldest_is_and_counts_up_to_a_bound(application, monkeypatch):
    monkeypatch.setattr(backlog, "MOST_COUNTED", 2)
    subscription = make_subscription(application)
    publish(application, 3)
    oldest = RequestAttempt.objects.order_by("id")[0]
    RequestAttempt.objects.filter(pk=oldest.pk).update(created_at=datetime.now(UTC) - timedelta(hours=2))
    sample_backlog()
    sample = BacklogSample.objects.get()
    assert (sample.subscription_id, sample.amount) == (subscription.pk, 2)
    assert 7_200 <= sample.age_seconds < 7_300


def test_where_nothing_waits_nothing_is_kept(application):
    make_subscription(application)
    sample_backlog()
    assert samples() == {}
