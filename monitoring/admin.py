from django.contrib import admin

from monitoring.models import JobRound, Snapshot
from tenants.admin_pages import ReadOnlyAdmin


@admin.register(JobRound)
class JobRoundAdmin(ReadOnlyAdmin):
    list_display = ("job", "succeeded_at", "failed_at", "error")
    ordering = ("-failed_at", "job")
    nothing = "No job has run yet. Start the clock: docs/how-to/run-in-production.md says which processes there are."


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ("taken_at", "seconds", "next_at")
    nothing = "No snapshot yet. One is taken when something asks for the metrics: docs/reference/metrics.md."
