from django.contrib import admin

from events.models import BulkLoad, Event
from tenants.admin_pages import ReadOnlyAdmin


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("event_id", "event_type", "application", "labels", "received_at")
    list_filter = ("application",)
    search_fields = ("=event_id",)
    ordering = ("-received_at", "-id")
    exclude = ("payload",)
    readonly_fields = ("payload_text",)

    @admin.display(description="payload")
    def payload_text(self, event: Event) -> str:
        return bytes(event.payload).decode("utf-8", "replace")


@admin.register(BulkLoad)
class BulkLoadAdmin(ReadOnlyAdmin):
    list_display = ("id", "application", "state", "stage", "progress", "events_count", "events_released", "created_at")
    list_filter = ("state",)
    search_fields = ("=id",)
    ordering = ("-created_at", "-id")
