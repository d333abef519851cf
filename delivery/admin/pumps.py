from django.contrib import admin

from delivery.models import RunningPump
from tenants.admin_pages import ReadOnlyAdmin
from tenants.cells import moment


@admin.register(RunningPump)
class RunningPumpAdmin(ReadOnlyAdmin):
    list_display = ("process", "worker", "started", "seen")
    fields = list_display
    nothing = "No pump runs: nothing is delivered. Start a delivery worker."

    @admin.display(description="started")
    def started(self, pump: RunningPump) -> str:
        return moment(pump.started_at)

    @admin.display(description="seen")
    def seen(self, pump: RunningPump) -> str:
        return moment(pump.seen_at)
