from django.contrib import admin

from monitoring.models import JobRound, Snapshot
from tenants.admin_pages import ReadOnlyAdmin


@admin.register(JobRound)
class JobRoundAdmin(ReadOnlyAdmin):
    list_display = ("job", "succeeded_at", "failed_at", "error")
    ordering = ("-failed_at", "job")


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ("taken_at", "seconds", "next_at")
