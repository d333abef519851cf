from django.contrib import admin

from tenants.admin_pages import UndeletableAdmin
from tenants.models import Application, EventType, Organization


@admin.register(Organization)
class OrganizationAdmin(UndeletableAdmin):
    list_display = ("name", "id", "created_at")


@admin.register(Application)
class ApplicationAdmin(UndeletableAdmin):
    list_display = ("name", "organization", "id", "created_at")
    list_filter = ("organization",)
    search_fields = ("name", "id")


@admin.register(EventType)
class EventTypeAdmin(admin.ModelAdmin):
    list_display = ("name", "application", "deactivated_at")
    list_filter = ("application",)
    search_fields = ("name",)
