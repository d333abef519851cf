from django.contrib import admin

from delivery.models import AttemptLog, DeadLetter, Lane, RequestAttempt
from tenants.admin_pages import ReadOnlyAdmin


@admin.register(Lane)
class LaneAdmin(ReadOnlyAdmin):
    list_display = ("id", "subscription", "key", "phase", "waiting", "tries", "since", "ready_at")
    list_filter = ("phase",)
    search_fields = ("key", "=subscription__id")

    @admin.display(description="waiting")
    def waiting(self, lane: Lane) -> int:
        return lane.tail_seq - lane.head_seq + 1


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
