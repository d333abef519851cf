from typing import Any

from django.contrib import admin

from delivery.audit import Operator
from events import replays
from events.models import Replay
from tenants.admin_pages import ReadOnlyAdmin
from tenants.cells import moment, progress
from tenants.templatetags.operate import state
from tenants.verbs import Reason, Verb


def _cancel(replay: Replay, fields: dict[str, Any], by: Operator) -> str:
    replays.cancel(replay.pk, by=by)
    return "It makes no more deliveries. Those that are made stay."


@admin.register(Replay)
class ReplayAdmin(ReadOnlyAdmin):
    organization = "application__organization"
    by = ("-id",)
    list_display = ("started", "application", "to", "state_badge", "how_far", "deliveries", "actor")
    list_select_related = ("application", "subscription")
    list_filter = ("state",)
    fields = (
        "started", "application", "to", "state_badge", "how_far", "deliveries", "since", "until", "only_failed",
        "event_types", "labels", "actor", "reason",
    )  # fmt: skip
    nothing = "Nothing was replayed. A subscription's page can send again what has failed since some time."
    verbs = (
        Verb(
            "cancel",
            "Cancel",
            _cancel,
            lambda _: "No more deliveries are made. Those that are made stay.",
            form=Reason,
            offered=lambda replay: replay.finished_at is None,
            icon="cancel",
            is_dangerous=True,
        ),
    )

    @admin.display(description="asked for")
    def started(self, replay: Replay) -> str:
        return moment(replay.created_at)

    @admin.display(description="to")
    def to(self, replay: Replay) -> str:
        return str(replay.subscription or "all that are enabled")

    @admin.display(description="state")
    def state_badge(self, replay: Replay) -> str:
        return state(replay.state)

    @admin.display(description="progress")
    def how_far(self, replay: Replay) -> str:
        return progress(replay.done, replay.total, is_moving=replay.finished_at is None)
