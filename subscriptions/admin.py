from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from subscriptions.models import Worker
from tenants.admin_pages import StaffAdmin
from tenants.models import Membership
from tenants.staff import sees_all


@admin.register(Worker)
class WorkerAdmin(StaffAdmin):
    by = ("name", "pk")
    list_display = ("name", "is_public")
    search_fields = ("name",)
    fields = ("name", "is_public")
    nothing = "Everybody is served by the same pumps. Name a worker to serve some subscriptions apart."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Public ones, and those that an organization of the reader may use."""
        if sees_all(request.user):
            return Worker.objects.all()
        mine = Membership.objects.filter(user=request.user.pk).values("organization")
        return Worker.objects.filter(Q(is_public=True) | Q(organization_links__organization__in=mine)).distinct()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return sees_all(request.user) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_all(request.user) and super().has_change_permission(request, obj)
