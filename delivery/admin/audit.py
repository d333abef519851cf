import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from delivery.models import OperatorAction
from tenants.admin_pages import ReadOnlyAdmin
from tenants.cells import link, moment, pretty, short
from tenants.models import Application
from tenants.staff import sees_all, visible_to


@admin.register(OperatorAction)
class OperatorActionAdmin(ReadOnlyAdmin):
    """Who did what to the queue, and why."""

    by = ("-id",)
    list_display = ("when", "actor", "action", "reason", "subject")
    search_fields = ("=actor", "=action", "=subscription_id")
    search_help_text = "An actor, an action, or a subscription's id"
    fields = ("when", "actor", "action", "reason", "subject", "told")
    nothing = "Nobody has done anything yet. What you do on the pages of subscriptions, lanes and others is kept here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        actions = OperatorAction.objects.all()
        if sees_all(request.user):
            return actions
        theirs = visible_to(request.user, Application.objects.all(), "organization")
        return actions.filter(application_id__in=theirs.values("id"))

    @admin.display(description="when")
    def when(self, action: OperatorAction) -> str:
        return moment(action.at)

    @admin.display(description="of")
    def subject(self, action: OperatorAction) -> str:
        if action.lane_id:
            return link(reverse("admin:delivery_lane_change", args=[action.lane_id]), f"lane {action.lane_id}")
        if action.subscription_id:
            address = reverse("admin:subscriptions_subscription_change", args=[action.subscription_id])
            return link(address, f"subscription …{str(action.subscription_id)[-8:]}")
        return short(None)

    @admin.display(description="details")
    def told(self, action: OperatorAction) -> str:
        return pretty(json.dumps(action.details, indent=2))
