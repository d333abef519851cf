from django.contrib import admin

from subscriptions.models import Subscription
from tenants.admin_pages import ReadOnlyAdmin


@admin.register(Subscription)
class SubscriptionAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "application", "fifo_mode", "is_enabled", "method", "url", "created_at")
    list_filter = ("fifo_mode", "is_enabled", "application")
    search_fields = ("description", "url", "id")
    exclude = ("secret",)
