from django.contrib import admin

from events.models import BulkLoad
from tenants.admin_pages import ReadOnlyAdmin
from tenants.cells import moment, progress, short
from tenants.templatetags.operate import state


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
