from typing import Any

from django import forms
from django.contrib import admin
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldBooleanSwitchWidget

from events import bulk_loads
from events.api.bulk_loads import MOST_PER_SECOND
from events.models import BulkLoad
from events.release import MOVING
from tenants.admin_pages import ReadOnlyAdmin
from tenants.cells import moment, progress, short
from tenants.principal import Operator
from tenants.templatetags.operate import state
from tenants.verbs import GoodReason, Reason, Verb, telling

State = BulkLoad.State
UNFINISHED = [State.LOADING, State.MERGING, *MOVING, State.PAUSED]


class Rate(Reason):
    per_second = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_PER_SECOND,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text="Events to release per second. Empty: as fast as live deliveries do not notice.",
    )


class Cancel(GoodReason):
    pending = forms.BooleanField(
        required=False,
        widget=UnfoldBooleanSwitchWidget(),
        help_text="Call off its deliveries that are pending, too.",
    )


def _change_rate(load: BulkLoad, fields: dict[str, Any], by: Operator) -> str:
    bulk_loads.change_rate(load.pk, fields["per_second"], by=by)
    return "It is released at the new rate from now on."


def _cancel(load: BulkLoad, fields: dict[str, Any], by: Operator) -> str:
    bulk_loads.cancel(load.pk, pending=fields["pending"], by=by)
    return "It makes no more deliveries." + ("" if fields["pending"] else " Those that are made stay.")


VERBS = (
    Verb(
        "pause",
        "Pause",
        telling(bulk_loads.pause, "No more deliveries are made of it until it is resumed."),
        lambda _: "Its release stops between two chunks, and goes on there when it is resumed.",
        offered=lambda load: load.state in MOVING,
        icon="pause",
    ),
    Verb(
        "resume",
        "Resume",
        telling(bulk_loads.resume, "It goes on."),
        lambda _: "Its release goes on where it stopped.",
        offered=lambda load: load.state == State.PAUSED,
    ),
    Verb(
        "rate",
        "Change the rate",
        _change_rate,
        lambda load: f"It goes at {load.per_second} per second." if load.per_second else "It goes at its own pace.",
        form=Rate,
        offered=lambda load: load.state in UNFINISHED,
        icon="speed",
    ),
    Verb(
        "cancel",
        "Cancel",
        _cancel,
        lambda _: (
            "No more deliveries are made of it, and events that were not released are removed. Those that were stay."
        ),
        form=Cancel,
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
