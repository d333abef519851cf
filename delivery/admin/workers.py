from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from delivery.audit import Operator
from delivery.reconfigure import choose_default_worker
from subscriptions.models import OrganizationWorker
from tenants.admin_pages import StaffAdmin


@admin.register(OrganizationWorker)
class OrganizationWorkerAdmin(StaffAdmin):
    """Which workers an organization may use. Here and not with subscriptions: a new default moves what waits."""

    organization = "organization"
    by = ("organization_id", "pk")
    list_display = ("organization", "worker", "is_default")
    list_select_related = ("organization", "worker")
    nothing = "Everybody is served by the public workers. Give an organization one of its own here."

    def get_readonly_fields(self, request: HttpRequest, obj: OrganizationWorker | None = None) -> tuple[str, ...]:
        return ("organization", "worker") if obj else ()

    def save_model(self, request: HttpRequest, obj: OrganizationWorker, form: Any, change: bool) -> None:
        is_default, obj.is_default = obj.is_default, False
        super().save_model(request, obj, form, change)
        if "is_default" in form.changed_data:
            by = Operator(request.user.get_username())
            choose_default_worker(obj.organization_id, obj.worker if is_default else None, by=by)
