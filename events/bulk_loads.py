"""What people can do to a bulk load once its events are there, or while they come: pause, resume, cancel, another rate.

Each locks the load's row, as the release does: it is between two steps of it, never within one.
"""

import uuid
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from delivery.audit import Operator, record
from events.models import BulkLoad
from events.problems import BulkLoadConflict
from events.release import MOVING

State = BulkLoad.State


@transaction.atomic
def pause(load_id: uuid.UUID, *, by: Operator) -> None:
    """Release no more of it until it is resumed. What is released is delivered."""
    load = _lock(load_id)
    if load.state != State.PAUSED:
        _require(load, MOVING, "paused")
        _change(load, by, "pause_bulk_load", state=State.PAUSED, stage="paused")


@transaction.atomic
def resume(load_id: uuid.UUID, *, by: Operator) -> None:
    """Go on with the release where it was."""
    load = _lock(load_id)
    if load.state not in MOVING:
        _require(load, [State.PAUSED], "resumed")
        state = State.RELEASING if load.events_released else State.READY
        _change(load, by, "resume_bulk_load", state=state, stage="", released_until=None, moved_at=Now())


@transaction.atomic
def cancel(load_id: uuid.UUID, *, pending: bool = False, by: Operator) -> None:
    """Release no more of it, ever. The events that were not released are removed in the background.

    With `pending`, its deliveries that are pending are called off as well.
    """
    load = _lock(load_id)
    if load.state != State.CANCELLED:
        _require(load, [State.LOADING, State.MERGING, *MOVING, State.PAUSED], "cancelled")
        end(load, by, calls_off=pending)


def cancel_those_of_deleted_applications() -> None:
    """Nobody is there to get their events any more."""
    orphans = BulkLoad.objects.filter(finished_at=None, application__deleted_at__isnull=False)
    for load_id in orphans.values_list("id", flat=True):
        with transaction.atomic(durable=True):
            load = _lock(load_id)
            if load.finished_at is None:
                end(load, Operator("hook0", "Its application is deleted"), calls_off=False)


def end(load: BulkLoad, by: Operator, *, calls_off: bool) -> None:
    ended = {"state": State.CANCELLED, "stage": "being removed", "finished_at": Now(), "calls_off": calls_off}
    _change(load, by, "cancel_bulk_load", **ended)


@transaction.atomic
def change_rate(load_id: uuid.UUID, per_second: int | None, *, by: Operator) -> None:
    """Release so many events per second from now on, or as many as live deliveries do not notice."""
    load = _lock(load_id)
    _require(load, [State.LOADING, State.MERGING, *MOVING, State.PAUSED], "given another rate")
    if load.per_second != per_second:
        _change(load, by, "change_rate_of_bulk_load", per_second=per_second, released_until=None)


def _lock(load_id: uuid.UUID) -> BulkLoad:
    return BulkLoad.objects.select_for_update(no_key=True).get(id=load_id)


def _require(load: BulkLoad, states: list[State], what: str) -> None:
    if load.state not in states:
        hint = (
            " It is released when all of its events are there." if load.state in {State.LOADING, State.MERGING} else ""
        )
        raise BulkLoadConflict(f"The load is {load.state}: it cannot be {what}.{hint}")


def _change(load: BulkLoad, by: Operator, action: str, **changes: Any) -> None:
    BulkLoad.objects.filter(id=load.pk).update(**changes)
    told: dict[str, Any] = {"bulk_load_id": str(load.pk), "before": load.state}
    rate = {"per_second": changes["per_second"]} if "per_second" in changes else {}
    record(by, action, application_id=load.application_id, events_released=load.events_released, **told, **rate)
