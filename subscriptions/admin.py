from django.contrib import admin

from subscriptions.models import Subscription, Worker
from tenants.admin_pages import ReadOnlyAdmin, UndeletableAdmin


@admin.register(Worker)
class WorkerAdmin(UndeletableAdmin):
    list_display = ("name", "is_public")
    search_fields = ("name",)


@admin.register(Subscription)
class SubscriptionAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "application", "fifo_mode", "is_enabled", "method", "url", "created_at")
    list_filter = ("fifo_mode", "is_enabled", "application")
    search_fields = ("description", "url", "id")
    exclude = ("secret", "previous_secret")
