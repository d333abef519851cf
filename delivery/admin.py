from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from delivery.audit import Operator
from delivery.models import AttemptLog, DeadLetter, Lane, RequestAttempt, RunningPump
from delivery.reconfigure import choose_default_worker
from subscriptions.models import OrganizationWorker
from tenants.admin_pages import ReadOnlyAdmin, UndeletableAdmin


@admin.register(Lane)
class LaneAdmin(ReadOnlyAdmin):
    list_display = ("id", "subscription", "key", "phase", "depth", "tries", "since", "ready_at")
    list_filter = ("phase",)
    search_fields = ("key", "=subscription__id")


@admin.register(RequestAttempt)
class RequestAttemptAdmin(ReadOnlyAdmin):
    list_display = ("id", "subscription", "event", "lane_seq", "priority", "due_at", "tries")
    list_select_related = ("subscription", "event")
    search_fields = ("=id", "=event__event_id")


@admin.register(AttemptLog)
class AttemptLogAdmin(ReadOnlyAdmin):
    list_display = (
        "ended_at",
        "subscription",
        "event",
        "lane_seq",
        "try_number",
        "succeeded",
        "http_status",
        "error_name",
        "elapsed_ms",
    )
    list_select_related = ("subscription", "event")
    list_filter = ("succeeded", "error_name")
    ordering = ("-ended_at",)
    search_fields = ("=id", "=delivery_id", "=event__event_id")
    exclude = ("response_body",)
    readonly_fields = ("body",)

    @admin.display(description="response body")
    def body(self, attempt: AttemptLog) -> str:
        return bytes(attempt.response_body or b"").decode("utf-8", "replace")


@admin.register(DeadLetter)
class DeadLetterAdmin(ReadOnlyAdmin):
    list_display = ("died_at", "subscription", "event", "reason", "tries", "last_error", "last_http_status")
    list_select_related = ("subscription", "event")
    list_filter = ("reason",)
    ordering = ("-died_at",)


@admin.register(RunningPump)
class RunningPumpAdmin(ReadOnlyAdmin):
    list_display = ("process", "worker", "started_at", "seen_at")
    ordering = ("-seen_at",)


@admin.register(OrganizationWorker)
class OrganizationWorkerAdmin(UndeletableAdmin):
    """Which workers an organization may use. Here and not with subscriptions: a new default moves what waits."""

    list_display = ("organization", "worker", "is_default")
    list_select_related = ("organization", "worker")
    list_filter = ("organization",)

    def get_readonly_fields(self, request: HttpRequest, obj: OrganizationWorker | None = None) -> tuple[str, ...]:
        return ("organization", "worker") if obj else ()

    def save_model(self, request: HttpRequest, obj: OrganizationWorker, form: Any, change: bool) -> None:
        is_default, obj.is_default = obj.is_default, False
        super().save_model(request, obj, form, change)
        if "is_default" in form.changed_data:
            by = Operator(request.user.get_username())
            choose_default_worker(obj.organization_id, obj.worker if is_default else None, by=by)
