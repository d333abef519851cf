from typing import Any

from django.contrib import admin

from delivery.audit import Operator
from events import bulk_loads
from events.models import BulkLoad
from events.release import MOVING
from tenants.admin_pages import ReadOnlyAdmin
from tenants.cells import moment, progress, short
from tenants.templatetags.operate import state
from tenants.verbs import GoodReason, Verb

State = BulkLoad.State


def _pause(load: BulkLoad, fields: dict[str, Any], by: Operator) -> str:
    bulk_loads.pause(load.pk, by=by)
    return "No more deliveries are made of it until it is resumed."


def _resume(load: BulkLoad, fields: dict[str, Any], by: Operator) -> str:
    bulk_loads.resume(load.pk, by=by)
    return "It goes on."


def _cancel(load: BulkLoad, fields: dict[str, Any], by: Operator) -> str:
    bulk_loads.cancel(load.pk, by=by)
    return "It makes no more deliveries. Those that are made stay."


VERBS = (
    Verb(
        "pause",
        "Pause",
        _pause,
        lambda _: "Its release stops between two chunks, and goes on there when it is resumed.",
        offered=lambda load: load.state in MOVING,
        icon="pause",
    ),
    Verb(
        "resume",
        "Resume",
        _resume,
        lambda _: "Its release goes on where it stopped.",
        offered=lambda load: load.state == State.PAUSED,
    ),
    Verb(
        "cancel",
        "Cancel",
        _cancel,
        lambda _: (
            "No more deliveries are made of it, and events that were not released are removed. Those that were stay."
        ),
        form=GoodReason,
        offered=lambda load: load.finished_at is None,
        icon="cancel",
        is_dangerous=True,
    ),
)


@admin.register(BulkLoad)
class BulkLoadAdmin(ReadOnlyAdmin):
    organization = "application__organization"
    by = ("-created_at", "-id")
    list_display = ("began", "application", "state_badge", "stage", "loaded", "released", "deliveries", "copy_id")
    list_select_related = ("application",)
    list_filter = ("state",)
    fields = (
        "copy_id", "application", "state_badge", "stage", "error", "loaded", "released", "source", "actor", "rows_read",
        "rows_quarantined", "quarantined", "rows_duplicate", "events_count", "deliveries", "per_second", "began",
        "ended",
    )  # fmt: skip
    verbs = VERBS
    nothing = "Nothing was loaded in bulk. See docs/how-to/send-many-events.md."

    @admin.display(description="id")
    def copy_id(self, load: BulkLoad) -> str:
        return short(load.pk)

    @admin.display(description="begun")
    def began(self, load: BulkLoad) -> str:
        return moment(load.started_at)

    @admin.display(description="ended")
    def ended(self, load: BulkLoad) -> str:
        return moment(load.finished_at)

    @admin.display(description="state")
    def state_badge(self, load: BulkLoad) -> str:
        return state(load.state)

    @admin.display(description="loaded")
    def loaded(self, load: BulkLoad) -> str:
        return progress(load.progress, 100, is_moving=load.loaded_at is None and load.finished_at is None)

    @admin.display(description="released")
    def released(self, load: BulkLoad) -> str:
        return progress(load.events_released, load.events_count, is_moving=load.finished_at is None)
