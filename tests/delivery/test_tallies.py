"""How tries end, in slots of ten minutes."""

from datetime import timedelta

from delivery.models import AttemptLog, Tally
from delivery.tallies import BOUNDS_MS, KEPT, SLOT, Slot, added, count_tries, percentile, slot_of, slots_until
from hook0.receiver import Behaviour
from tests.factories import make_application, make_subscription, publish


def counted():
    return {(tally.succeeded): tally.amount for tally in Tally.objects.all()}


def test_tries_are_counted_by_how_they_ended_and_counting_again_changes_nothing(pump, receiver):
    receiver.behaviours["/"] = Behaviour(status=500, times=2)
    application = make_application()
    subscription = make_subscription(application, url=f"http://127.0.0.1:{receiver.port}/", max_in_flight=1)
    publish(application, 5)
    pump.run()
    count_tries()
    assert counted() == {True: 3, False: 2}
    count_tries()
    assert counted() == {True: 3, False: 2}
    assert {tally.subscription_id for tally in Tally.objects.all()} == {subscription.pk}
    assert {tally.slot for tally in Tally.objects.all()} <= {slot_of(a.ended_at) for a in AttemptLog.objects.all()}


def test_what_ends_later_in_a_counted_slot_is_counted_too_and_what_is_old_is_forgotten(pump, receiver):
    application = make_application()
    make_subscription(application, url=f"http://127.0.0.1:{receiver.port}/")
    publish(application, 2)
    pump.run()
    count_tries()
    publish(application, 3)
    pump.run()
    count_tries()
    assert sum(tally.amount for tally in Tally.objects.all()) == 5
    last = Tally.objects.latest("slot").slot
    count_tries(now=last + KEPT + SLOT)
    assert not Tally.objects.filter(slot__lt=last).exists()


def test_a_percentile_is_the_bound_that_so_many_were_below():
    assert percentile({}, 0.95) is None
    assert percentile({0: 95, 4: 5}, 0.95) == BOUNDS_MS[0]
    assert percentile({0: 94, 4: 6}, 0.95) == BOUNDS_MS[4]
    assert percentile({len(BOUNDS_MS): 1}, 0.95) == BOUNDS_MS[-1]


def test_slots_end_with_the_one_that_is_under_way(pump):
    now = slot_of(AttemptLog._meta.get_field("ended_at").to_python("2026-01-31T12:34:56+00:00"))
    slots = list(slots_until(now, over=timedelta(hours=1)))
    assert len(slots) == 6
    assert slots[-1] == now
    assert slots == sorted(slots)


def test_slots_add_up():
    slots = [Slot(at=None), Slot(at=None)]
    for slot in slots:
        slot.add(succeeded=True, latency=2, amount=3)
        slot.add(succeeded=False, latency=5, amount=7)
    assert (slots[0].succeeded, slots[0].failed) == (3, 7)
    assert added(slots) == {2: 6}
